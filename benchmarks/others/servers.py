"""Starts a server others wrote, and stands between it and a Connector."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp
from aiohttp import web

FOLDER: Final = Path(__file__).resolve().parents[2] / ".others"
"""Where `make others` installs them, each in a folder of its own."""

_START: Final = 120.0
"""Seconds a server may need until it answers."""


class NotInstalled(Exception):
    """What is run is not there."""


def installed(path: str) -> Path:
    """The path of something `make others` installs.

    Raises:
        NotInstalled: it is not there.
    """
    found = FOLDER / path
    if not found.exists():
        raise NotInstalled(f"{found} is missing: run `make others`, it installs it.")
    return found


def free_port() -> int:
    """A port of this machine nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def running(
    command: Sequence[str | Path], url: str, *, folder: Path, environment: Mapping[str, str]
) -> AsyncGenerator[None]:
    """Runs a server until the block ends; enters it once `url` is answered.

    Raises:
        RuntimeError: it ended, or did not answer in time; the message has the end of its log.
    """
    log = folder / "server.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        deadline = time.monotonic() + _START
        async with aiohttp.ClientSession() as session:
            while not await _answers(session, url):
                if process.returncode is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{command[0]} does not answer: {log.read_text(errors='replace')[-2_000:]}")
                await asyncio.sleep(0.2)
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as answer:
            await answer.read()
            return True
    except aiohttp.ClientError:
        return False


class Between:
    """Passes requests on to a server, as they are.

    Args:
        target: the server's address.

    `more_headers` are added to each request; with `loses_answers` the request is carried out and the connection
    closed; `last_body` is what the server answered last.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self.more_headers: dict[str, str] = {}
        self.loses_answers = False
        self.last_body = b""
        self.url = ""

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Between]:
        """Listens on a free port of this machine."""
        async with aiohttp.ClientSession(auto_decompress=False) as self._session:
            runner = web.AppRunner(self._app(), access_log=None)
            await runner.setup()
            port = free_port()
            await web.TCPSite(runner, "127.0.0.1", port).start()
            self.url = f"http://127.0.0.1:{port}"
            try:
                yield self
            finally:
                await runner.cleanup()

    def _app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        return app

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in {"host", "connection"}}
        async with self._session.request(
            request.method,
            f"{self._target}{request.raw_path}",
            headers={**headers, **self.more_headers},
            data=await request.read(),
            allow_redirects=False,
        ) as answer:
            body = await answer.read()
            self.last_body = body
            if self.loses_answers and request.transport is not None:
                request.transport.abort()
            kept = {
                name: value
                for name, value in answer.headers.items()
                if name.lower() not in {"content-length", "transfer-encoding", "connection", "keep-alive"}
            }
            return web.Response(status=answer.status, body=body, headers=kept)
