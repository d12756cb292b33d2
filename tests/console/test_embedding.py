"""The quick start's application, as it stands in the document, under a plain ASGI server."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from claude_agent_sdk import ClaudeAgentOptions

from dexbridge.claude import claude_agent_session_flow
from dexbridge.claude.testing import ScriptedModel, order_support_script
from dexbridge.config.writing import NewConnection, write_connection_file
from dexbridge.connectors import Secret
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.toolsource import ToolEffect
from tests.console.conftest import OPERATOR_KEY, ROOT, Server, environment, start
from tests.fakes.recorded import recorded_in

DOCUMENT = ROOT / "docs" / "quick-start.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)


def test_the_python_of_the_quick_start_compiles() -> None:
    for number, block in enumerate(blocks()):
        compile(block, f"quick-start block {number}", "exec")


def test_the_function_of_the_quick_start_is_a_write_that_asks_with_its_policy_or_without() -> None:
    (source,) = [block for block in blocks() if "@tool" in block]
    names: dict[str, Any] = {}
    exec(compile(source, "quick-start", "exec"), names)
    for policies in (names["policies"], None):
        flow = claude_agent_session_flow(
            lambda _context: ClaudeAgentOptions(), [names["cancel"]], flow_type="Orders", tool_policies=policies
        )
        (offered,) = flow.tools
        assert offered.effect is ToolEffect.NON_IDEMPOTENT_WRITE
        assert offered.asks({"order_id": "1"})


async def test_the_agent_of_the_quick_start_works_with_the_local_servers_it_names(tmp_path: Path) -> None:
    """Its own text: the application, and the third terminal's commands, with the ports that are free here."""
    text = DOCUMENT.read_text()
    (source,) = [block for block in blocks() if "flow_type=" in block]
    (tmp_path / "my_agent.py").write_text(source)
    (typed,) = [block for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL) if "local.toml" in block]
    for module in ("dexbridge.claude.testing.scripted_model --port 8791", "dexbridge.connectors.testing.local_slack"):
        assert f"python -m {module}" in text
    async with ScriptedModel(order_support_script) as model, LocalSlack() as slack:
        commands = typed.replace("http://127.0.0.1:8791", model.url).replace("http://127.0.0.1:8790", slack.url)
        message = re.search(r"# (Reply in Slack .*)", typed)
        assert message is not None
        process = await asyncio.create_subprocess_exec(
            "sh",
            "-ec",
            commands,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=tmp_path,
            env=environment(PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}"),
        )
        async with asyncio.timeout(60):
            output, _ = await process.communicate(f"{message[1]}\n".encode())
    assert "Waits for approval: Slack · reply in C0123456789" in output.decode()
    assert process.returncode == 3
    model.assert_told(await recorded_in(f"sqlite:///{tmp_path}/.dexbridge/sessions.db"))


async def test_the_agent_of_the_quick_start_does_not_start_without_a_credential_its_tool_needs(tmp_path: Path) -> None:
    (source,) = [block for block in blocks() if "flow_type=" in block]
    (tmp_path / "my_agent.py").write_text(source)
    path = str(tmp_path / "lacks.json")
    write_connection_file(path, [NewConnection("slack", "support-slack", {}, {"user_token": Secret("xoxp-1-t")})])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dexbridge.console", "serve", "--app", "my_agent:flows", "--port", "0"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env=environment(ANTHROPIC_API_KEY="k", DEX_CONNECTOR_CONFIG_FILE=path),
    )
    try:
        async with asyncio.timeout(30):
            output, errors = await process.communicate()
    except TimeoutError:
        process.kill()
        pytest.fail("It started.")
    (line,) = errors.decode().splitlines()
    assert "needs the credential bot_token of the connection slack/support-slack" in line
    assert (process.returncode, output) == (2, b"")


async def test_routes_and_page_work_where_they_are_mounted(tmp_path: Path) -> None:
    (source,) = [block for block in blocks() if "app.mount" in block]
    mine = source.replace(
        "from examples.order_support.app import flows", "from tests.console.scripted_app import opened"
    )
    (tmp_path / "my_application.py").write_text(mine.replace("flows()", "opened()"))
    command = [sys.executable, "-m", "uvicorn", "my_application:app", "--port", "PORT", "--app-dir", str(tmp_path)]
    more = {"DEX_ENGINE_URL": f"sqlite:///{tmp_path / 'sessions.db'}", "PYTHONPATH": str(ROOT)}
    server = Server(command, tmp_path, more, says=r"running on (http://\S+)")
    server.start()
    try:
        async with aiohttp.ClientSession(server.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            talk = await start(http, "hello", routes="/support")
            await talk.events("turn_answered")
            async with http.get("/operate/") as answer:
                assert answer.url.path == "/operate/login"
            login = {"key": OPERATOR_KEY, "name": "Ada", "then": "/"}
            async with http.post("/operate/login", data=login, allow_redirects=False) as answer:
                assert answer.headers["Location"] == "/operate/"
                assert "path=/operate" in answer.headers["Set-Cookie"].lower()
            async with http.get(f"/operate/session?id={talk.session_id}") as answer:
                text = await answer.text()
            assert "you said hello" in text
            addresses = [one for one in re.findall(r'(?:href|src|action|data-live)="([^"]+)"', text) if one[0] != "#"]
            assert addresses
            assert [one for one in addresses if not one.startswith("/operate/")] == []
            async with http.get("/operate/static/console.css") as answer:
                assert (answer.status, answer.content_type) == (200, "text/css")
    finally:
        server.stop()


@pytest.mark.parametrize("path", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "../templates/base.html", ""])
async def test_static_files_are_all_that_is_served(http: aiohttp.ClientSession, path: str) -> None:
    async with http.get(f"/static/{path}", allow_redirects=False) as answer:
        assert answer.status in (303, 404)
