"""Requests that are made to be hard to read: the answer is short, and nobody else waits for it."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.console.conftest import ROUTES, Server, start
from tests.console.test_page_access import form_token, log_in

LONGEST_STALL = 0.05
SIZE = 1_900_000
MEMBERS = ",".join(f'"m{number}":1' for number in range(165_000))
JSON_ROUTES = ("/sessions", "/messages", "/turns/steer", "/turns/cancel", "/interrupts/resolve")
HEAVY_JSON = {
    "members": "{" + MEMBERS + "}",
    "nested lists": "[" * SIZE,
    "nested objects": '{"a":' * (SIZE // 5),
    "small lists": "[" + "[]," * (SIZE // 3) + "[]]",
    "numbers": '{"message":[' + "1e9," * (SIZE // 4) + "1]}",
    "a long number": '{"message":' + "9" * SIZE + "}",
    "empty texts": '{"message":[' + '"",' * (SIZE // 3) + "1]}",
    "escapes": '{"message":"' + "\\u0041" * (SIZE // 6) + '"}',
    "backslashes": '{"message":"' + "\\\\" * (SIZE // 2) + '"}',
    "quotes": '{"message":"' + '\\"' * (SIZE // 2) + '"}',
    "hidden quotes": "{" + '"\\\\":"\\\\",' * (SIZE // 10) + '"a":1}',
    "nothing to see": json.dumps({"message": "\u200b" * (SIZE // 6)}),
    "white space": "{" + " " * SIZE + "}",
}
HEAVY_FORMS = {
    "escapes": "text=" + "%41" * (SIZE // 3),
    "fields": "a=&" * (SIZE // 3),
    "a long name": "a" * SIZE,
    "spaces": "text=" + "+" * SIZE,
    "nothing to see": "text=" + "%E2%80%8B" * (SIZE // 9),
}


@pytest.fixture(scope="module")
def metered(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    folder = tmp_path_factory.mktemp("metered")
    command = [sys.executable, "-m", "dexbridge.console", "serve", "--app", "tests.console.metered_app:opened"]
    served = Server(
        [*command, "--port", "PORT", "--url", f"sqlite:///{folder / 'sessions.db'}"],
        folder,
        {"STALLS": str(folder / "stalls")},
    )
    served.start()
    yield served
    assert served.stop() == 0


@pytest_asyncio.fixture
async def client(metered: Server) -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(metered.url, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


async def stalled(server: Server, requests: Callable[[], Awaitable[None]]) -> float:
    """The longest stall of the loop while requests come in. The least of three: other processes may hold this one."""
    file = Path(server.more["STALLS"])
    longest: list[float] = []
    for _ in range(3):
        await asyncio.sleep(0.02)
        begin(file)
        await asyncio.sleep(0.02)
        await requests()
        await asyncio.sleep(0.02)
        longest.append(worst(file))
    return min(longest)


def begin(file: Path) -> None:
    file.unlink(missing_ok=True)


def worst(file: Path) -> float:
    return float(file.read_text())


@pytest.mark.parametrize("heavy", HEAVY_JSON)
async def test_a_heavy_body_holds_nobody_and_is_answered_shortly(
    metered: Server, client: aiohttp.ClientSession, heavy: str
) -> None:
    body = HEAVY_JSON[heavy].encode()

    async def requests() -> None:
        for path in JSON_ROUTES:
            async with client.post(
                ROUTES + path, data=io.BytesIO(body), headers={"Content-Type": "application/json"}
            ) as answer:
                said = await answer.read()
                assert answer.status == 400
                assert len(said) < 10_000
                assert json.loads(said)["faults"]

    assert await stalled(metered, requests) < LONGEST_STALL


@pytest.mark.parametrize("heavy", HEAVY_FORMS)
async def test_a_heavy_form_holds_nobody(metered: Server, client: aiohttp.ClientSession, heavy: str) -> None:
    cookie = await log_in(client)
    assert cookie is not None
    token = await form_token(client, cookie)
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    talk = await start(client)
    form = f"form_token={token}&session_id={talk.session_id}&{HEAVY_FORMS[heavy]}".encode()

    async def requests() -> None:
        async with client.post("/login", data=io.BytesIO(form), headers=kind) as answer:
            assert (answer.status, len(await answer.read()) < 10_000) == (413, True)
        async with client.post("/do/send", data=io.BytesIO(form), headers={**kind, "Cookie": cookie}) as answer:
            assert answer.status == (200 if heavy in ("nothing to see", "spaces") else 400)
            await answer.read()

    assert await stalled(metered, requests) < LONGEST_STALL


async def test_small_pieces_and_small_headers_hold_nobody(metered: Server) -> None:
    host, port = metered.url.removeprefix("http://").split(":")

    async def send(request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request)
        answer = await reader.read(1_000)
        writer.close()
        return answer

    head = f"POST {ROUTES}/sessions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"1\r\n \r\n" * 50_000 + b"0\r\n\r\n"

    async def requests() -> None:
        assert b" 400 " in await send(chunked)
        assert b" 431 " in await send(head.encode() + b"a:b\r\n" * 50_000 + b"\r\n")
        assert b" 431 " in await send(head.encode() + b"a:b\r\n" * 3_000 + b"\r\n")

    assert await stalled(metered, requests) < LONGEST_STALL


async def test_a_long_query_holds_nobody(metered: Server, client: aiohttp.ClientSession) -> None:
    async def requests() -> None:
        for path in (f"{ROUTES}/snapshot", f"{ROUTES}/events", "/login", "/"):
            async with client.get(f"{path}?{'a=&' * 2_900}") as answer:
                assert answer.status == 414
            async with client.get(
                f"{path}?{'&'.join(f'a{number}=' for number in range(1_000))}", allow_redirects=False
            ) as answer:
                assert len(await answer.read()) < 10_000

    assert await stalled(metered, requests) < LONGEST_STALL


async def test_twenty_faults_are_told_and_how_many_more_there_are(client: aiohttp.ClientSession) -> None:
    body = {f"member_{number}": 1 for number in range(45)}
    async with client.post(f"{ROUTES}/sessions", json=body) as answer:
        assert answer.status == 400
        faults = (await answer.json())["faults"]
    assert [fault["at"] for fault in faults[:20]] == [f"member_{number}" for number in range(20)]
    assert faults[20:] == [{"at": "body", "message": "and 25 more"}]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (f"{{{MEMBERS}}}", "The body has 165,000 texts, and no request needs more than 50."),
        ("[" * 100_000, "The body has 100,000 bytes that are no text, and no request needs more than 4,096."),
    ],
)
async def test_what_is_too_much_to_read_is_said(client: aiohttp.ClientSession, body: str, said: str) -> None:
    async with client.post(
        f"{ROUTES}/sessions", data=io.BytesIO(body.encode()), headers={"Content-Type": "application/json"}
    ) as answer:
        assert answer.status == 400
        assert (await answer.json())["faults"] == [{"at": "body", "message": said}]


async def test_a_long_message_full_of_escapes_is_taken(client: aiohttp.ClientSession) -> None:
    text = 'He said "yes\\", {[1, 2]}: ' * 150
    talk = await start(client)
    assert await talk.post("/messages", text=text) == (200, {"accepted": True})
    await talk.events("turn_answered")
    assert (await talk.snapshot())["messages"][0]["text"] == text
