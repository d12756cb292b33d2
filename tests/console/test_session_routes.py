"""The session routes as a front end meets them, on a real server process."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import aiohttp
import pytest
from itsdangerous import URLSafeTimedSerializer
from starlette.requests import Request

from dexbridge.console.web.reading import read_body
from dexbridge.console.web.refusals import Refused
from dexbridge.sessions import AgentSessionClient, open_engine
from tests.console.conftest import ROUTES, SESSION_KEY, TOKEN, Server, Talk, start

CANCEL = 'call cancel_order {"order_id": "1002"}'


async def waiting(talk: Talk) -> dict[str, Any]:
    await talk.events("interrupt_opened")
    return (await talk.snapshot())["pending_interrupts"][0]


async def test_a_message_is_answered(http: aiohttp.ClientSession) -> None:
    talk = await start(http)
    assert talk.session_id.startswith("Scripted-")
    assert await talk.post("/messages", text="hello") == (200, {"accepted": True})
    events = await talk.events("turn_answered")
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["data"]["text"] == "you said hello"
    assert [message["text"] for message in (await talk.snapshot())["messages"]] == ["hello", "you said hello"]


async def test_a_session_may_start_with_a_message(http: aiohttp.ClientSession) -> None:
    talk = await start(http, "hello")
    assert (await talk.events("turn_answered"))[-1]["data"]["text"] == "you said hello"


async def test_a_message_id_makes_sending_again_harmless(http: aiohttp.ClientSession) -> None:
    talk = await start(http)
    for _ in range(2):
        assert await talk.post("/messages", text="once", message_id="m-1") == (200, {"accepted": True})
    assert await talk.post("/messages", text="another", message_id="m-1") == (200, {"accepted": False})
    await talk.events("turn_answered")
    assert [message["text"] for message in (await talk.snapshot())["messages"]] == ["once", "you said once"]


async def test_an_approved_call_is_made_once(http: aiohttp.ClientSession) -> None:
    talk = await start(http, CANCEL)
    interrupt = await waiting(talk)
    assert (interrupt["tool"], interrupt["arguments"]) == ("cancel_order", {"order_id": "1002"})
    decide = {"interrupt_id": interrupt["interrupt_id"], "approved": True}
    assert await talk.post("/interrupts/resolve", **decide) == (200, {"accepted": True})
    await talk.events("turn_answered")
    (call,) = (await talk.snapshot())["calls"]
    assert (call["outcome"], call["attempts"]) == ("succeeded", 1)
    assert await talk.post("/interrupts/resolve", **decide) == (200, {"accepted": False})


async def test_a_rejection_reaches_the_agent(http: aiohttp.ClientSession) -> None:
    talk = await start(http, CANCEL)
    interrupt = await waiting(talk)
    await talk.post(
        "/interrupts/resolve", interrupt_id=interrupt["interrupt_id"], approved=False, rejection_message="Too late."
    )
    answer = (await talk.events("turn_answered"))[-1]["data"]["text"]
    assert "Too late." in answer
    assert (await talk.snapshot())["calls"][0]["outcome"] == "rejected"


@pytest.mark.parametrize("approved", ["true", 1, None, 0, [], "yes"])
async def test_only_a_boolean_decides(http: aiohttp.ClientSession, approved: object) -> None:
    talk = await start(http, CANCEL)
    interrupt = await waiting(talk)
    status, body = await talk.post("/interrupts/resolve", interrupt_id=interrupt["interrupt_id"], approved=approved)
    assert (status, body["faults"][0]["at"]) == (400, "approved")
    assert len((await talk.snapshot())["pending_interrupts"]) == 1


async def test_a_turn_is_cancelled_and_steered(http: aiohttp.ClientSession) -> None:
    talk = await start(http)
    assert await talk.post("/turns/cancel") == (200, {"accepted": False})
    await talk.post("/messages", text=CANCEL)
    await waiting(talk)
    assert await talk.post("/turns/cancel") == (200, {"accepted": True})
    await talk.events("turn_cancelled")
    snapshot = await talk.snapshot()
    assert (snapshot["status"], snapshot["pending_interrupts"]) == ("idle", [])
    assert await talk.post("/turns/steer", text="hello") == (200, {"accepted": True})
    assert "you said hello" in (await talk.events("turn_answered"))[-1]["data"]["text"]


async def test_events_go_on_where_the_client_was(http: aiohttp.ClientSession) -> None:
    talk = await start(http, "hello")
    events = await talk.events("turn_answered")
    last = events[-1]["sequence"]
    headers = {TOKEN: talk.token, "Last-Event-ID": str(last - 1)}
    asked = {"session_id": talk.session_id, "after": "0", "follow": "false"}
    async with http.get(f"{ROUTES}/events", params=asked, headers=headers) as answer:
        text = (await answer.read()).decode()
    assert f"id: {last}\nevent: turn_answered\ndata: " in text
    assert text.count("\nid: ") == 1


async def test_two_streams_see_what_happens_live(http: aiohttp.ClientSession) -> None:
    talk = await start(http)
    streams = [asyncio.create_task(talk.events("turn_answered")) for _ in range(2)]
    await talk.post("/messages", text="live")
    first, second = await asyncio.gather(*streams)
    assert first == second


async def test_the_text_of_the_model_comes_on_request(http: aiohttp.ClientSession) -> None:
    talk = await start(http)
    asked = {"session_id": talk.session_id, "text": "true"}
    kinds: list[str] = []
    async with http.get(f"{ROUTES}/events", params=asked, headers={TOKEN: talk.token}) as answer:
        await talk.post("/messages", text="slow one")
        async for line in answer.content:
            if line.startswith(b"event: "):
                kinds.append(line.decode().strip().removeprefix("event: "))
            if kinds and kinds[-1] == "turn_answered":
                break
    assert kinds.count("text") == 3


async def test_all_faults_of_a_body_are_named_at_once(http: aiohttp.ClientSession) -> None:
    async with http.post(f"{ROUTES}/interrupts/resolve", json={"approved": "yes", "aproved": True}) as answer:
        assert answer.status == 400
        body = await answer.json()
    assert body["error"] == "invalid_request"
    assert {fault["at"] for fault in body["faults"]} == {"session_id", "interrupt_id", "approved", "aproved"}


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("text/plain", b"{}", 415),
        ("application/x-www-form-urlencoded", b"message=x", 415),
        ("application/json", b"", 400),
        ("application/json", b"[]", 400),
        ("application/json", b"{", 400),
        ("application/json", b'{"message": NaN}', 400),
        ("application/json", b'{"message": "a", "message": "b"}', 400),
        ("application/json", b'{"message": "\xff"}', 400),
        ("application/json", b'{"message": "\\ud800"}', 400),
        ("application/json", b'{"message": "\\u0000"}', 400),
        ("application/json", b'{"message": "  "}', 400),
        ("application/json", b'{"message": 1}', 400),
        ("application/json", b"[" * 100_000, 400),
        ("application/json", json.dumps({"message": "x" * 5_001}).encode(), 400),
        ("application/json", b'{"message": "' + b"x" * (2 * 1024 * 1024) + b'"}', 413),
        ("application/json; charset=utf-8", b"{}", 200),
    ],
)
async def test_what_is_no_such_json_is_refused(
    http: aiohttp.ClientSession, content_type: str, body: bytes, status: int
) -> None:
    async with http.post(f"{ROUTES}/sessions", data=io.BytesIO(body), headers={"Content-Type": content_type}) as answer:
        assert answer.status == status
        said = await answer.json()
    assert status == 200 or said["faults"]


@pytest.mark.parametrize("message", ["  ", "x" * 5_001, "a\x00"])
async def test_a_first_message_that_cannot_be_accepted_leaves_no_session(
    http: aiohttp.ClientSession, server: Server, message: str
) -> None:
    async with open_engine(f"sqlite:///{server.folder / 'sessions.db'}", run_steps=False) as engine:
        sessions = AgentSessionClient(engine, "-")
        before = await sessions.list_sessions(limit=1_000)
        async with http.post(f"{ROUTES}/sessions", json={"message": message}) as answer:
            assert answer.status == 400
        assert await sessions.list_sessions(limit=1_000) == before


async def test_a_body_of_unknown_length_is_bounded_too(http: aiohttp.ClientSession) -> None:
    async def pieces() -> Any:
        for _ in range(40):
            yield b" " * 100_000

    async with http.post(f"{ROUTES}/sessions", data=pieces(), headers={"Content-Type": "application/json"}) as answer:
        assert answer.status == 413


async def test_a_client_that_leaves_amid_its_body_makes_no_noise(http: aiohttp.ClientSession, server: Server) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    for path, kind in ((f"{ROUTES}/sessions", "application/json"), ("/login", "application/x-www-form-urlencoded")):
        before = server.log
        _, writer = await asyncio.open_connection(host, int(port))
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: 100\r\n\r\n"
        writer.write(head.encode() + b'{"message"')
        await writer.drain()
        # The server has it in hand once it answers somebody who came later.
        await start(http)
        writer.close()
        await writer.wait_closed()
        await start(http)
        assert server.log == before


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def nothing() -> Any:
        await asyncio.Event().wait()

    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": []}
    with pytest.raises(Refused) as refused:
        await read_body(Request(scope, nothing), seconds=0.01)
    assert (refused.value.status, refused.value.headers) == (408, {"Connection": "close"})


@pytest.mark.parametrize("text", [" ", "a\x00b", "\ud800", "x" * 5_001])
async def test_a_text_that_cannot_be_taken_is_named(http: aiohttp.ClientSession, text: str) -> None:
    talk = await start(http)
    for path in ("/messages", "/turns/steer"):
        status, body = await talk.post(path, text=text)
        assert (status, [fault["at"] for fault in body["faults"]]) == (400, ["text"])


def tampered(token: str) -> str:
    return token[:-2] + ("AA" if token[-2:] != "AA" else "BB")


async def test_a_bad_token_is_told_nothing(http: aiohttp.ClientSession) -> None:
    talk, other = await start(http), await start(http)
    salt = "dexbridge.session\nScripted"
    keyed = {"key_derivation": "hmac"}
    forged = str(URLSafeTimedSerializer("another key", salt=salt, signer_kwargs=keyed).dumps(talk.session_id))
    elsewhere = str(URLSafeTimedSerializer(SESSION_KEY, salt="another", signer_kwargs=keyed).dumps(talk.session_id))
    answers: list[tuple[int, str]] = []
    for token in ("", "x", tampered(talk.token), forged, elsewhere, f"{talk.token} ", other.token):
        async with http.get(
            f"{ROUTES}/snapshot", params={"session_id": talk.session_id}, headers={TOKEN: token}
        ) as answer:
            answers.append((answer.status, await answer.text()))
    assert [status for status, _ in answers[:-1]] == [401] * 5 + [200]
    assert {text for status, text in answers if status == 401} == {'{"error":"unauthorized","faults":[]}'}
    assert answers[-1] == (403, '{"error":"forbidden","faults":[]}')


async def test_no_token_says_whether_a_session_exists(http: aiohttp.ClientSession) -> None:
    talk = await start(http)
    for session_id in (talk.session_id, "no-such-session", "../x", "é", "x" * 200):
        for path, method in (("/snapshot", "GET"), ("/events", "GET"), ("/messages", "POST")):
            asked: dict[str, Any] = (
                {"params": {"session_id": session_id}}
                if method == "GET"
                else {"json": {"session_id": session_id, "text": "x"}}
            )
            async with http.request(method, ROUTES + path, **asked) as answer:
                assert (answer.status, await answer.json()) == (401, {"error": "unauthorized", "faults": []})


async def test_a_session_that_is_gone_is_404(http: aiohttp.ClientSession) -> None:
    import hashlib

    signer = URLSafeTimedSerializer(
        SESSION_KEY,
        salt="dexbridge.session\nScripted",
        signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
    )
    gone = Talk(http, "Scripted-gone", str(signer.dumps("Scripted-gone")))
    assert (await gone.get("/snapshot"))[0] == 404
    assert (await gone.get("/events"))[0] == 404
    assert (await gone.post("/messages", text="x"))[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""])
async def test_other_host_names_are_refused(http: aiohttp.ClientSession, host: str) -> None:
    for path in (f"{ROUTES}/snapshot", "/", "/login", "/static/console.css"):
        async with http.get(path, headers={"Host": host}, allow_redirects=False) as answer:
            assert answer.status in (400, 421)


async def test_answers_carry_the_headers_and_no_cors(http: aiohttp.ClientSession) -> None:
    for method, path in (("POST", "/sessions"), ("GET", "/nothing"), ("GET", "/snapshot"), ("OPTIONS", "/sessions")):
        async with http.request(method, ROUTES + path, headers={"Origin": "https://evil.example"}) as answer:
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cache-Control"] == "no-store"
            assert answer.headers["X-Frame-Options"] == "DENY"
            assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
            assert "server" not in {name.lower() for name in answer.headers}


@pytest.mark.parametrize("query", ["after=-1", "after=x", "after=99999999999999999999", "more=1", "after=1&after=2"])
async def test_a_bad_query_is_refused(http: aiohttp.ClientSession, query: str) -> None:
    talk = await start(http)
    async with http.get(f"{ROUTES}/events?session_id={talk.session_id}&{query}", headers={TOKEN: talk.token}) as answer:
        assert answer.status == 400
