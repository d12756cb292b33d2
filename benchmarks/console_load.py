"""The console under load: 200 sessions and 20 open event streams beside an empty server.

Run with `python -m benchmarks.console_load`. Prints how long the page takes to answer, beside the same page of an empty
server, and what processor and memory the loaded server uses while nobody does anything.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import psutil

from benchmarks.report import compare, print_table

_SESSIONS = 200
_STREAMS = 20
_ROUNDS = 60
_IDLE_SECONDS = 10
_KEY = "operator-key-of-the-benchmark"
_ROUTES = "/agents/Scripted"
_TOKEN = "X-Agent-Session-Token"


@dataclass(frozen=True, slots=True)
class _Served:
    http: aiohttp.ClientSession
    process: psutil.Process


@asynccontextmanager
async def _served() -> AsyncGenerator[_Served]:
    """The console with an application that has no model, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "dexbridge.console", "serve", "--port", "0"),
            *("--app", "tests.console.scripted_app:flows", "--url", f"sqlite:///{Path(folder) / 'sessions.db'}"),
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "DEX_OPERATOR_KEY": _KEY},
        )
        assert process.stderr is not None
        try:
            while (found := re.search(rb"serves on (http://\S+)", await process.stderr.readline())) is None:
                pass
            jar = aiohttp.CookieJar(unsafe=True)
            limit = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(found[1].decode(), cookie_jar=jar, connector=limit) as http:
                await (await http.post("/login", data={"key": _KEY, "name": "b", "then": "/"})).read()
                yield _Served(http, psutil.Process(process.pid))
        finally:
            process.terminate()
            await process.wait()


async def _start(served: _Served, message: str) -> tuple[str, str]:
    async with served.http.post(f"{_ROUTES}/sessions", json={"message": message}) as answer:
        body = await answer.json()
    return body["session_id"], body["session_token"]


async def _listen(served: _Served, session_id: str, token: str | None, opened: asyncio.Semaphore) -> None:
    """Keeps a stream open: a front end's when there is a token, else a browser's of the list."""
    timeout = aiohttp.ClientTimeout(total=None)
    path = "/live" if token is None else f"{_ROUTES}/events"
    query = {} if token is None else {"session_id": session_id}
    headers = {} if token is None else {_TOKEN: token}
    async with served.http.get(path, params=query, headers=headers, timeout=timeout) as answer:
        opened.release()
        async for _ in answer.content:
            pass


async def _times(served: _Served, path: str) -> list[float]:
    samples: list[float] = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        async with served.http.get(path) as answer:
            assert answer.status == 200
            await answer.read()
        samples.append(time.perf_counter() - began)
    return samples


async def _main() -> None:
    async with _served() as empty:
        session_id, _ = await _start(empty, "hello")
        await asyncio.sleep(1)
        base = {path: await _times(empty, path) for path in ("/", f"/session?id={session_id}")}
        one_page = base[f"/session?id={session_id}"]
    async with _served() as loaded:
        sessions = [await _start(loaded, "hello") for _ in range(_SESSIONS)]
        await asyncio.sleep(3)
        opened = asyncio.Semaphore(0)
        streams = [
            asyncio.create_task(_listen(loaded, *session, opened) if number % 2 else _listen(loaded, "", None, opened))
            for number, session in enumerate(sessions[:_STREAMS])
        ]
        for _ in streams:
            await opened.acquire()
        list_page = await _times(loaded, "/")
        session_page = await _times(loaded, f"/session?id={sessions[-1][0]}")
        before = loaded.process.cpu_times()
        await asyncio.sleep(_IDLE_SECONDS)
        after = loaded.process.cpu_times()
        used = (after.user + after.system - before.user - before.system) / _IDLE_SECONDS
        memory = loaded.process.memory_info().rss / 2**20
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)
    print_table(
        [
            compare(f"list of {_SESSIONS} sessions, {_STREAMS} streams", list_page, "an empty server", base["/"]),
            compare(f"one session, beside {_STREAMS} streams", session_page, "an empty server", one_page),
        ]
    )
    print(f"{_SESSIONS} idle sessions, {_STREAMS} open streams: {used:.1%} of one core, {memory:.0f} MiB")


if __name__ == "__main__":
    asyncio.run(_main())
