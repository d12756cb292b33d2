"""A proxy before PostgreSQL: it loses connections during a COMMIT, passed on or not, and goes away for a while."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sqlalchemy import make_url

__all__ = ["FaultProxy", "fault_proxy"]

_BEGINS, _COMMITS = b"BEGIN", b"COMMIT\x00"


@dataclass
class FaultProxy:
    """Where it listens, and what it does.

    Attributes:
        url: The database behind it.
        cuts: Whether the connection is lost at the COMMIT of this transaction, whose SQL it is given.
        delivers: Whether the COMMIT reaches the server first.
        then: Awaited before the client notices.
        lost: How many were.
        away: Whether nobody gets through now.
    """

    server: tuple[str, int]
    url: str = ""
    cuts: Callable[[bytes], bool] = lambda _sql: False
    delivers: bool = True
    then: Callable[[], Awaitable[None]] | None = None
    lost: int = 0
    away: bool = False
    _links: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        if self.away:
            to_client.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._links.add(task)
        server, to_server = await asyncio.open_connection(*self.server)
        answers = asyncio.create_task(_pass(server, to_client))
        sql = b""
        try:
            while data := await client.read(65536):
                sql = data if _BEGINS in data else sql + data
                if _COMMITS in data and self.cuts(sql):
                    self.lost += 1
                    answers.cancel()
                    await asyncio.gather(answers, return_exceptions=True)
                    if self.delivers:
                        to_server.write(data)
                        # The server has done it when it answers; nobody else hears of that.
                        await server.read(1)
                    if self.then is not None:
                        await self.then()
                    break
                to_server.write(data)
                await to_server.drain()
        except (ConnectionError, asyncio.CancelledError):
            # `cut` ends it.
            pass
        finally:
            answers.cancel()
            for writer in (to_client, to_server):
                writer.transport.abort()
            self._links.discard(task)

    async def go_away(self, seconds: float) -> None:
        """Cuts every connection and lets nobody through for so long."""
        self.away = True
        await self.cut()
        await asyncio.sleep(seconds)
        self.away = False

    async def cut(self) -> None:
        """Ends every connection."""
        for link in list(self._links):
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    # The server has closed the connection: so does the proxy.
    target.close()


@asynccontextmanager
async def fault_proxy(database_url: str) -> AsyncGenerator[FaultProxy]:
    """A proxy before that database, in this loop: only work in threads may wait for it."""
    url = make_url(database_url)
    proxy = FaultProxy((url.host or "127.0.0.1", url.port or 5432))
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    proxy.url = url.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
    try:
        yield proxy
    finally:
        listener.close()
        await proxy.cut()
