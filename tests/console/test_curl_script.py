"""The script of the documentation, run by bash against the example's server process."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path

import aiohttp
import pytest

from tests.console.conftest import ROOT, Server, environment

DOCUMENTS = [ROOT / "README.md", ROOT / "docs" / "http-routes.md"]

READING = 'curl -s "$base/snapshot'

pytestmark = pytest.mark.skipif(
    not all(shutil.which(name) for name in ("bash", "curl", "jq")),
    reason="bash, curl or jq is not installed: make services installs them",
)


def script_in(document: Path, begin: str = "base=http://127.0.0.1:8081/") -> str:
    """The script a document shows, by its beginning."""
    found = re.search(rf"```bash\n({re.escape(begin)}.*?)```", document.read_text(), re.DOTALL)
    assert found is not None, f"{document} shows no script"
    return found[1]


def test_the_documents_show_the_same_script() -> None:
    for begin in ("base=", READING):
        assert len({script_in(document, begin) for document in DOCUMENTS}) == 1


def example_server(folder: Path, **more: str) -> Server:
    return Server(
        [sys.executable, "-m", "examples.order_support"],
        folder,
        {"PORT": "PORT", "DEX_ENGINE_URL": f"sqlite:///{folder / 'sessions.db'}", **more},
    )


async def test_the_script_cancels_an_order_after_its_approval(tmp_path: Path) -> None:
    server = example_server(tmp_path, OFFLINE="1")
    server.start()
    try:
        read = 'for _ in $(seq 60); do s=$(curl -s "$base/snapshot?session_id=$id" -H "X-Agent-Session-Token: $token")'
        script = f"{script_in(DOCUMENTS[0]).replace('http://127.0.0.1:8081', server.url)}\n{read}\n"
        script += '[ "$(echo "$s" | jq -r .snapshot.status)" = idle ] && break; sleep 0.5; done; echo; echo "$s"\n'
        script += script_in(DOCUMENTS[0], READING)
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment()
        )
        async with asyncio.timeout(60):
            output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        accepted, snapshot, *answer = output.decode().splitlines()
        assert accepted == '{"accepted":true}{"accepted":true}'
        assert answer == [
            "idle",
            "The cancellation of order 1002 went through: Order 1002 is cancelled.",
            "cancel_order: succeeded",
        ]
        session = json.loads(snapshot)["snapshot"]
        assert "Order 1002 is cancelled." in session["messages"][-1]["text"]
        assert [(call["tool"], call["outcome"], call["attempts"]) for call in session["calls"]] == [
            ("cancel_order", "succeeded", 1)
        ]
    finally:
        assert server.stop() == 0


async def test_a_second_server_on_the_same_database_says_what_to_do(tmp_path: Path) -> None:
    first, folder = example_server(tmp_path, OFFLINE="1"), tmp_path / "second"
    folder.mkdir()
    first.start()
    try:
        assert "session tokens end with" not in first.log
        second = example_server(folder, OFFLINE="1", DEX_ENGINE_URL=f"sqlite:///{tmp_path / 'sessions.db'}")
        with pytest.raises(AssertionError, match="Stop it, or name another database with DEX_ENGINE_URL") as said:
            second.start()
        assert "run_steps" not in str(said.value)
        command = [sys.executable, "-m", "dexbridge.console", "serve", "--app", "tests.console.scripted_app:flows"]
        third = Server(command, folder, {"DEX_ENGINE_URL": f"sqlite:///{tmp_path / 'sessions.db'}"})
        with pytest.raises(AssertionError, match="dexbridge serve --no-worker"):
            third.start()
    finally:
        assert first.stop() == 0


async def test_without_keys_it_says_what_ends_with_the_process(tmp_path: Path) -> None:
    server = example_server(tmp_path, DEX_AGENT_SESSION_KEY="", DEX_OPERATOR_KEY="")
    server.start()
    assert server.stop() == 0
    assert (
        "session tokens and logins end with this process: set DEX_AGENT_SESSION_KEY and DEX_OPERATOR_KEY" in server.log
    )


async def test_without_a_key_the_agent_is_not_registered_and_it_says_so(tmp_path: Path) -> None:
    server = example_server(tmp_path)
    server.start()
    try:
        assert "The Claude agent is not registered: ANTHROPIC_API_KEY is not set." in server.log
        sessions = "/products/agent-harnesses/claude-agent-sdk/sessions"
        async with aiohttp.ClientSession(server.url) as http, http.post(sessions, json={}) as answer:
            assert answer.status == 404
    finally:
        assert server.stop() == 0
