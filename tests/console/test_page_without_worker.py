"""The page of a server that runs no Steps, while no Worker does."""

from __future__ import annotations

import re
from pathlib import Path

import aiohttp

from dexbridge.sessions import AgentSessionClient, EventKind, open_engine
from tests.console.conftest import OPERATOR_KEY, scripted_server
from tests.console.scripted_app import flows


async def test_a_call_that_was_decided_is_not_asked_about_again(tmp_path: Path) -> None:
    async with open_engine(f"sqlite:///{tmp_path / 'sessions.db'}", flows()) as engine:
        sessions = AgentSessionClient(engine)
        await sessions.start_session("s-1")
        await sessions.send_user_message("s-1", 'call cancel_order {"order_id": "1"}')
        async for event in sessions.read_events("s-1", follow=True):
            if event.kind is EventKind.INTERRUPT_OPENED:
                break
    asked: list[dict[str, tuple[bool, str]]] = []
    server = scripted_server(tmp_path, "--no-worker")
    server.start()
    try:
        async with aiohttp.ClientSession(server.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            (await http.post("/login", data={"key": OPERATOR_KEY, "name": "Ada", "then": "/"})).close()
            for _ in range(2):
                asked.append({path: await asks(http, path) for path in ("/inbox", "/session?id=s-1")})
                shown = await (await http.get("/session?id=s-1")).text()
                names = ("form_token", "session_id", "interrupt_id", "fingerprint")
                found = {name: re.search(rf'name="{name}" value="([^"]*)"', shown) for name in names}
                form = {name: match[1] for name, match in found.items() if match is not None}
                if "interrupt_id" in form:
                    assert (await http.post("/do/approve", data=form)).status == 200
    finally:
        assert server.stop() == 0
    assert asked == [
        {"/inbox": (True, "1"), "/session?id=s-1": (True, "1")},
        {"/inbox": (False, "0"), "/session?id=s-1": (False, "0")},
    ]


async def asks(http: aiohttp.ClientSession, path: str) -> tuple[bool, str]:
    """Whether the page asks for a decision, and the number in its badge."""
    async with http.get(path) as answer:
        assert answer.status == 200
        shown = await answer.text()
    badge = re.search(r'id="badge"[^>]*>(\d+)<', shown)
    assert badge is not None
    return "Approve this call?" in shown, badge[1]
