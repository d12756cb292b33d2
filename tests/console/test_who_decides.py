"""Who may decide about a call that waits: operators, and a session's token only where the application says so."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from dexbridge.console.web import openapi_document, session_routes
from dexbridge.sessions import AgentSessionClient, open_engine
from tests.console.conftest import OPERATOR_KEY, ROUTES, Server, Talk, scripted_server, start

CANCEL = 'call cancel_order {"order_id": "1002"}'


@pytest.fixture(scope="module")
def default_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """`dexbridge serve` as it is without options."""
    served = scripted_server(tmp_path_factory.mktemp("server"))
    served.start()
    yield served
    assert served.stop() == 0


async def waiting(talk: Talk) -> dict[str, Any]:
    await talk.events("interrupt_opened")
    (interrupt,) = (await talk.snapshot())["pending_interrupts"]
    return interrupt


async def decide_on_page(http: aiohttp.ClientSession, session_id: str, interrupt: dict[str, Any], deed: str) -> None:
    login = {"key": OPERATOR_KEY, "name": "Grace", "then": "/"}
    async with http.post("/login", data=login) as answer:
        assert answer.status == 200
    async with http.get(f"/session?id={session_id}") as answer:
        form_token = (await answer.text()).partition('name="form_token" value="')[2].partition('"')[0]
    form = {
        "form_token": form_token,
        "session_id": session_id,
        "interrupt_id": interrupt["interrupt_id"],
        "fingerprint": interrupt["fingerprint"],
    }
    async with http.post(f"/do/{deed}", data=form) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    ("approved", "deed", "decision"), [(True, "reject", "rejected"), (False, "approve", "approved")]
)
async def test_a_session_token_decides_nothing_by_default_and_an_operator_does(
    default_server: Server, approved: bool, deed: str, decision: str
) -> None:
    async with aiohttp.ClientSession(default_server.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        talk = await start(http, CANCEL)
        interrupt = await waiting(talk)
        status, body = await talk.post("/interrupts/resolve", interrupt_id=interrupt["interrupt_id"], approved=approved)
        assert (status, body["error"]) == (403, "forbidden")
        (fault,) = body["faults"]
        assert fault["at"] == "approvals"
        assert 'approvals="session"' in fault["message"]
        assert "--approvals session" in fault["message"]
        assert (await talk.snapshot())["pending_interrupts"] == [interrupt]

        await decide_on_page(http, talk.session_id, interrupt, deed)
        await talk.events("turn_answered")
        (call,) = (await talk.snapshot())["calls"]
        assert (call["decision"], call["decided_by"]) == (decision, "Grace")
        (resolved,) = [event for event in await talk.events("turn_answered") if event["kind"] == "interrupt_resolved"]
        assert (resolved["data"]["approved"], resolved["data"]["decided_by"]) == (deed == "approve", "Grace")


async def test_the_token_may_still_take_its_call_back(default_server: Server) -> None:
    async with aiohttp.ClientSession(default_server.url) as http:
        talk = await start(http, CANCEL)
        await waiting(talk)
        assert await talk.post("/turns/cancel") == (200, {"accepted": True})
        (call,) = (await talk.snapshot())["calls"]
        assert (call["outcome"], call["decision"], call["decided_by"]) == ("cancelled", None, None)


async def test_a_token_that_is_no_token_is_told_nothing_of_who_decides(default_server: Server) -> None:
    async with aiohttp.ClientSession(default_server.url) as http:
        talk, other = await start(http), await start(http)
        for token, status in (("", 401), (other.token, 403)):
            given = Talk(http, talk.session_id, token)
            assert (await given.post("/interrupts/resolve", interrupt_id="x", approved=True))[0] == status
            assert (await given.post("/interrupts/resolve", interrupt_id="x", approved=True))[1]["faults"] == []


async def test_where_the_application_says_so_the_token_decides_and_the_record_says_who(
    http: aiohttp.ClientSession, server: Server
) -> None:
    talk = await start(http, CANCEL)
    interrupt = await waiting(talk)
    decide = {"interrupt_id": interrupt["interrupt_id"], "approved": True}
    assert await talk.post("/interrupts/resolve", **decide) == (200, {"accepted": True})
    await talk.events("turn_answered")
    (call,) = (await talk.snapshot())["calls"]
    assert (call["decision"], call["decided_by"]) == ("approved", "holder of the session token")
    assert "calls are decided by whoever holds the session's token" in server.log


async def test_the_document_says_who_decides(default_server: Server) -> None:
    async with aiohttp.ClientSession(default_server.url) as http, http.get(f"{ROUTES}/openapi.json") as answer:
        document = await answer.json()
    assert document == openapi_document(ROUTES)
    assert "operators decide" in document["paths"]["/interrupts/resolve"]["post"]["summary"]
    other = openapi_document(approvals="session")["paths"]["/interrupts/resolve"]["post"]["summary"]
    assert "operators decide" not in other


@pytest.mark.parametrize("key", ["", "k" * 15, b"k" * 15])
def test_a_session_key_that_can_be_guessed_is_refused(tmp_path: Path, key: str | bytes) -> None:
    sessions = AgentSessionClient(open_engine(f"sqlite:///{tmp_path / 'none.db'}", run_steps=False), "x")
    with pytest.raises(ValueError, match=f"has {len(key)} characters: give a random one of at least 16"):
        session_routes(sessions, session_key=key)


def test_another_word_is_refused(tmp_path: Path) -> None:
    sessions = AgentSessionClient(open_engine(f"sqlite:///{tmp_path / 'none.db'}", run_steps=False), "x")
    with pytest.raises(ValueError, match='must be "operators" or "session", not \'anyone\''):
        session_routes(sessions, session_key="k" * 16, approvals="anyone")  # pyright: ignore[reportArgumentType]
