"""Real server processes, and HTTP clients of them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.console.commands import Commands
from tests.console.processes import OPERATOR_KEY, ROOT, SCRIPTED, SESSION_KEY, environment

ROUTES = "/agents/Scripted"
TOKEN = "X-Agent-Session-Token"


@dataclass
class Server:
    """A server in a process of its own; it can be stopped and started again at the same address."""

    command: list[str]
    folder: Path
    more: Mapping[str, str] = field(default_factory=dict[str, str])
    says: str = r"serves on (http://\S+)"
    url: str = ""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        before = len(self.log) if (self.folder / "server.log").exists() else 0
        port = self.url.rpartition(":")[2] or "0"
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [one.replace("PORT", port) for one in self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=environment(TMPDIR=str(self.folder), **{k: v.replace("PORT", port) for k, v in self.more.items()}),
            )
        for _ in range(600):
            if (found := re.search(self.says, self.log[before:])) is not None:
                self.url = found[1]
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        self._process.kill()
        self._process.wait()
        raise AssertionError(f"the server did not start:\n{self.log[before:]}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(how)
        try:
            return process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def scripted_server(folder: Path, *options: str) -> Server:
    """`dexbridge serve` with the scripted application."""
    command = [sys.executable, "-m", "dexbridge.console", "serve", "--app", SCRIPTED, "--port", "PORT", *options]
    return Server([*command, "--url", f"sqlite:///{folder / 'sessions.db'}"], folder)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """One server for all tests that do not stop it; each starts sessions of its own."""
    served = scripted_server(tmp_path_factory.mktemp("server"), "--approvals", "session")
    served.start()
    yield served
    assert served.stop() == 0
    assert "Traceback" not in served.log
    assert SESSION_KEY not in served.log
    assert OPERATOR_KEY not in served.log


@pytest_asyncio.fixture
async def http(server: Server) -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


@dataclass(frozen=True)
class Talk:
    """A session of the routes, with its token."""

    http: aiohttp.ClientSession
    session_id: str
    token: str
    routes: str = ROUTES

    async def post(self, path: str, **body: Any) -> tuple[int, Any]:
        sent = {"session_id": self.session_id, **body}
        async with self.http.post(self.routes + path, json=sent, headers={TOKEN: self.token}) as answer:
            return answer.status, await answer.json()

    async def get(self, path: str, **query: str) -> tuple[int, Any]:
        asked = {"session_id": self.session_id, **query}
        async with self.http.get(self.routes + path, params=asked, headers={TOKEN: self.token}) as answer:
            return answer.status, await answer.json()

    async def snapshot(self) -> dict[str, Any]:
        status, body = await self.get("/snapshot")
        assert status == 200
        return body["snapshot"]

    async def events(self, *kinds: str, after: int = 0) -> list[dict[str, Any]]:
        """The events up to the first of one of these kinds."""
        seen: list[dict[str, Any]] = []
        asked = {"session_id": self.session_id, "after": str(after)}
        timeout = aiohttp.ClientTimeout(total=30)
        async with self.http.get(
            self.routes + "/events", params=asked, headers={TOKEN: self.token}, timeout=timeout
        ) as answer:
            assert answer.status == 200
            assert answer.content_type == "text/event-stream"
            async for line in answer.content:
                if line.startswith(b"data: "):
                    seen.append(json.loads(line.removeprefix(b"data: ")))
                    if seen[-1]["kind"] in kinds:
                        return seen
        raise AssertionError(f"the stream ended without {kinds}: {seen}")


async def start(http: aiohttp.ClientSession, message: str | None = None, routes: str = ROUTES) -> Talk:
    async with http.post(f"{routes}/sessions", json={} if message is None else {"message": message}) as answer:
        assert answer.status == 200
        body = await answer.json()
    return Talk(http, body["session_id"], body["session_token"], routes)


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    """`dexbridge` on a database that is not there yet."""
    return Commands(f"sqlite:///{tmp_path / 'sessions.db'}")
