"""A call that was refused for a credential in it, on every surface: routes, page, terminal, logs."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest_asyncio

from dexbridge.connectors.testing.local_slack import LocalSlack
from tests.console.commands import Commands
from tests.console.conftest import ROUTES, Server, start
from tests.console.test_page_access import log_in
from tests.fakes.slack_flow import POST, connection_file

POSTING = ROUTES.replace("Scripted", "Posting")
CALL = f"call {POST} " + json.dumps({"channel_id": "C0123456789", "text": "Our token is $TOKEN, keep it."})


@pytest_asyncio.fixture
async def posting(tmp_path: Path) -> AsyncGenerator[tuple[Server, LocalSlack]]:
    async with LocalSlack() as slack:
        more = {
            "DEX_CONNECTOR_CONFIG_FILE": str(connection_file(tmp_path, slack)),
            "REPEATED": slack.bot_token,
        }
        command = [sys.executable, "-m", "dexbridge.console", "serve", "--app", "tests.console.slack_app:opened"]
        url = f"sqlite:///{tmp_path / 'sessions.db'}"
        served = Server([*command, "--port", "PORT", "--approvals", "session", "--url", url], tmp_path, more)
        served.start()
        yield served, slack
        assert served.stop() == 0


async def test_no_surface_shows_the_arguments_of_a_call_refused_for_a_credential(
    posting: tuple[Server, LocalSlack], tmp_path: Path
) -> None:
    served, slack = posting
    async with aiohttp.ClientSession(served.url, cookie_jar=aiohttp.DummyCookieJar()) as http:
        talk = await start(http, CALL, routes=POSTING)
        await talk.events("interrupt_opened")
        (waiting,) = (await talk.snapshot())["pending_interrupts"]
        assert slack.bot_token in waiting["arguments"]["text"]
        decide = {"interrupt_id": waiting["interrupt_id"], "approved": True}
        assert await talk.post("/interrupts/resolve", **decide) == (200, {"accepted": True})
        await talk.events("turn_answered")
        # Read again from the beginning: the call was refused since.
        events = await talk.events("turn_answered")
        assert slack.requests == []
        snapshot = await talk.snapshot()
        assert snapshot["calls"][0]["arguments"]["text"] == "Our token is [redacted], keep it."
        cookie = await log_in(http)
        assert cookie is not None
        pages: list[str] = []
        for path in ("/", "/inbox", f"/session?id={talk.session_id}", f"/session?id={talk.session_id}&all"):
            async with http.get(path, headers={"Cookie": cookie}) as answer:
                assert answer.status == 200
                pages.append(await answer.text())
        assert "Our token is [redacted], keep it." in pages[2]
    commands = Commands(f"sqlite:///{tmp_path / 'sessions.db'}")
    shown = await commands.run("sessions", "show", talk.session_id)
    as_json = await commands.run("sessions", "show", talk.session_id, "--json")
    listed = await commands.run("sessions", "list", "--json")
    assert "[redacted]" in shown.output
    said = (json.dumps(events), json.dumps(snapshot), *pages, shown.output, as_json.output, listed.output, served.log)
    assert [text for text in said if slack.bot_token in text] == []
