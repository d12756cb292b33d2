"""What no client of ours would send, over real sockets: refused in a sentence where HTTP allows one, and ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dexbridge.console.web.connections import LONGEST_HEAD, BoundedConnection
from dexbridge.console.web.guards import Guard
from tests.console.conftest import ROUTES, Server

Address = tuple[str, int]


def address_of(server: Server) -> Address:
    host, port = server.url.removeprefix("http://").split(":")
    return host, int(port)


async def answer_of(address: Address, request: bytes, seconds: float = 20) -> bytes:
    """All that comes until the server closes."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(request)
        async with asyncio.timeout(seconds):
            return await reader.read()
    finally:
        writer.close()


def refused(answer: bytes) -> tuple[int, str]:
    """The status, and the one sentence of the fault."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    assert status is not None, answer
    (fault,) = json.loads(body)["faults"]
    return int(status[1]), fault["message"]


def get(host: str, path: str = "/login", *more: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close", *more]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


@pytest.mark.parametrize(
    "host",
    [
        "[::1].evil.com",
        "[::1]evil.com",
        "[::1",
        "::1",
        "127.0.0.1:80@evil.com",
        "evil.com@127.0.0.1",
        "127.0.0.1:x",
        "127.0.0.1:80:80",
        "127.0.0.1/evil",
        "127.0.0.1,evil.com",
        "127.0.0.1 evil.com",
        "http://127.0.0.1",
    ],
)
async def test_a_host_that_is_no_name_and_port_is_refused(server: Server, host: str) -> None:
    for path in ("/login", f"{ROUTES}/openapi.json"):
        status, said = refused(await answer_of(address_of(server), get(host, path)))
        assert (status, said) == (400, "The request must have one Host header: a name, and perhaps a port.")


async def test_two_hosts_are_refused(server: Server) -> None:
    answer = await answer_of(address_of(server), get("127.0.0.1", "/login", "Host: evil.com"))
    assert b" 400 " in answer.partition(b"\r\n")[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:1", "LOCALHOST", "localhost.:8081", "[::1]", "[::1]:80"])
async def test_the_loopback_is_answered(server: Server, host: str) -> None:
    assert (await answer_of(address_of(server), get(host))).startswith(b"HTTP/1.1 200 ")


async def test_a_length_beside_chunks_is_refused(server: Server) -> None:
    body = b"2\r\n{}\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    kind = "Content-Type: application/json\r\n"
    for framing in (
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
    ):
        head = f"POST {ROUTES}/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n{kind}{framing}\r\n"
        answer = await answer_of(address_of(server), head.encode() + body)
        said = "The body's length is given twice, by Content-Length and by Transfer-Encoding: send one."
        assert refused(answer) == (400, said)
        assert answer.count(b"HTTP/1.1 ") == 1


async def test_too_many_headers_are_refused(server: Server) -> None:
    few = [f"X-{number}: x" for number in range(90)]
    assert (await answer_of(address_of(server), get("127.0.0.1", "/login", *few))).startswith(b"HTTP/1.1 200 ")
    many = [f"X-{number}: x" for number in range(500)]
    status, said = refused(await answer_of(address_of(server), get("127.0.0.1", "/login", *many)))
    assert (status, said) == (431, "The request has 502 headers, and 100 are the most.")
    long = [f"X-{number}: x" for number in range(5_000)]
    status, said = refused(await answer_of(address_of(server), get("127.0.0.1", "/login", *long)))
    assert status == 431
    assert said == "The request's first line and headers are longer than 16,384 bytes: shorten them."
    status, said = refused(await answer_of(address_of(server), get("127.0.0.1", f"/{'x' * 30_000}")))
    assert status == 431
    assert LONGEST_HEAD == 16_384


async def test_what_is_no_http_is_refused(server: Server) -> None:
    assert refused(await answer_of(address_of(server), b"\x16\x03\x01\r\n\r\n"))[0] == 400


async def test_a_chunk_that_is_none_is_refused_once_and_makes_no_noise(server: Server) -> None:
    kind = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    head = f"POST {ROUTES}/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n{kind}\r\n".encode()
    before = server.log
    reader, writer = await asyncio.open_connection(*address_of(server))
    writer.write(head + b"1\r\n{\r\n")
    await writer.drain()
    await answer_of(address_of(server), get("127.0.0.1"))
    writer.write(b"no chunk\r\n")
    answer = await reader.read()
    writer.close()
    assert refused(answer) == (400, "Invalid HTTP request received.")
    assert "Traceback" not in server.log.removeprefix(before)


@pytest.mark.slow
async def test_headers_that_do_not_come_are_waited_for_ten_seconds(server: Server) -> None:
    async def trickle(first: bytes) -> tuple[bytes, float]:
        reader, writer = await asyncio.open_connection(*address_of(server))
        began = time.monotonic()
        writer.write(first)
        reading = asyncio.ensure_future(reader.read())
        try:
            async with asyncio.timeout(25):
                while not (await asyncio.wait({reading}, timeout=1))[0]:
                    if first:
                        writer.write(b"X-Slow: 1\r\n")
        finally:
            writer.close()
        return reading.result(), time.monotonic() - began

    slow, silent = await asyncio.gather(trickle(b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\n"), trickle(b""))
    assert refused(slow[0]) == (408, "The request's headers had not come within 10 s: send it again.")
    assert silent[0] == b""
    for _, seconds in (slow, silent):
        assert 9.5 < seconds < 15


class Quick(BoundedConnection):
    """The same, with less patience."""

    owed_seconds = 0.3
    unread_seconds = 0.5


async def large(_request: Request) -> Response:
    return PlainTextResponse("x" * 1_000_000)


@asynccontextmanager
async def quick() -> AsyncGenerator[Address]:
    """A server in this process, which holds connections for a shorter time."""
    app = Guard(Starlette(routes=[Route("/large", large), Route("/post", large, methods=["POST"])]))
    config = uvicorn.Config(app, http=Quick, ws="none", lifespan="off", log_level="error", port=0)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([listening]))
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            await serving


async def test_a_body_nobody_reads_is_not_waited_for_after_the_answer() -> None:
    async with quick() as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"POST /post HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n")
        reading = asyncio.ensure_future(reader.read())
        began = time.monotonic()
        while not (await asyncio.wait({reading}, timeout=0.05))[0]:
            writer.write(b"x")
        writer.close()
        assert time.monotonic() - began < 5
        assert reading.result().endswith(b"x" * 1_000_000)


async def test_a_second_request_may_be_slow_for_as_long_as_the_first() -> None:
    async with quick() as address:
        reader, writer = await asyncio.open_connection(*address)
        for _ in range(2):
            writer.write(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            await reader.readexactly(1_000_000)
        await asyncio.sleep(0.4)
        writer.write(b"GET /large HTTP/1.1\r\nHo")
        assert refused(await reader.read())[0] == 408
        writer.close()


async def test_an_answer_nobody_reads_is_given_up() -> None:
    async with quick() as address:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.connect(address)
            client.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 60)
            await asyncio.sleep(2)
            client.settimeout(5)
            assert await asyncio.to_thread(received_by, client) < 60_000_000


def received_by(client: socket.socket) -> int:
    """How many bytes come until the connection is over, one way or the other."""
    received = 0
    with contextlib.suppress(ConnectionResetError):
        while piece := client.recv(65_536):
            received += len(piece)
    return received


async def test_who_keeps_asking_is_answered_on_one_connection(server: Server) -> None:
    async with aiohttp.ClientSession(server.url, connector=aiohttp.TCPConnector(limit=1)) as http:
        for _ in range(3):
            async with http.get("/login") as answer:
                assert answer.status == 200
                assert "Connection" not in answer.headers
            await asyncio.sleep(0.1)
