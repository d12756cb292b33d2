"""A message the agent is not given any more, as people see it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from dexbridge.sessions import AgentSessionClient, EventKind, open_engine
from tests.console.browser import chromium, needs_chromium, person
from tests.console.conftest import ROOT, Server, environment
from tests.console.scripted_app import flows

MARK = "refused: left out of the agent's conversation"


async def test_the_terminal_marks_a_refused_message(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    async with open_engine(url, flows()) as engine:
        client = AgentSessionClient(engine)
        await client.start_session("s-1")
        await client.send_user_message("s-1", "refuse this")
        async for event in client.read_events("s-1", follow=True):
            if event.kind is EventKind.TURN_FAILED:
                break
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "dexbridge.console", "sessions", "show", "s-1"],
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env=environment(DEX_ENGINE_URL=url),
    )
    output, _ = await process.communicate()
    assert f"user ({MARK}): refuse this" in output.decode()


@needs_chromium
async def test_the_page_marks_a_refused_message(server: Server) -> None:
    async with chromium() as browser, person(browser, server.url) as ada:
        await ada.log_in()
        await ada.start("refuse this")
        line = ada.page.locator("#conversation li.user", has_text=MARK)
        await line.wait_for()
        assert "refuse this" in await line.inner_text()
