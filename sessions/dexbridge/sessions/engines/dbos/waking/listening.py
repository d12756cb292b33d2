"""Hears the notices of other processes through PostgreSQL's LISTEN, on a connection of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import uuid
from collections.abc import Callable, Sequence
from typing import Any, cast

import psycopg
from psycopg.sql import SQL, Identifier
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from dexbridge.sessions.engines.dbos.databases.database import writing
from dexbridge.sessions.errors import DatabaseUnavailable

__all__ = ["Listening"]

Connection = psycopg.Connection[Any]

logger = logging.getLogger(__name__)

_TRIAL = "dexbridge_trial"
_TRIAL_SECONDS = 2.0
_PAUSE_SECONDS = 1.0
_PAUSE_WHERE_IT_DOES_NOT_WORK_SECONDS = 600.0
_IDLE_SECONDS, _PROBE_SECONDS, _PROBES = 30, 10, 3


class Listening:
    """See `Hearing`.

    A pooler in transaction mode, such as PgBouncer, takes a LISTEN and passes nothing on. So behind a pooler each
    connection is tried with a notice of our own; where that is not heard it is said once, and tried again later.

    Args:
        engine: The database.
        channels: What is listened to.
        heard: Takes the channel and the payload of each notice, in the loop.
        missed: Called when it begins to work, and when it stops: notices may have been missed.
    """

    def __init__(
        self, engine: Engine, channels: Sequence[str], heard: Callable[[str, str], None], missed: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._channels = channels
        self._heard = heard
        self._missed = missed
        self._task: asyncio.Task[None] | None = None
        self._works = False
        self._said = False

    @property
    def works(self) -> bool:
        return self._works

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._listen_for_ever())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _listen_for_ever(self) -> None:
        while True:
            try:
                connection = await self._connected()
            except (DatabaseUnavailable, SQLAlchemyError, psycopg.Error) as error:
                # The database is away: those who write to it say so.
                logger.debug("LISTEN begins anew after %s.", type(error).__name__)
            except Exception as error:  # noqa: BLE001 - it is looked for what others commit, as before
                logger.warning("LISTEN raised %s; it is tried again.", type(error).__name__)
            else:
                if connection is None:
                    await asyncio.sleep(_PAUSE_WHERE_IT_DOES_NOT_WORK_SECONDS)
                    continue
                with contextlib.closing(connection):
                    await self._listen(connection)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _connected(self) -> Connection | None:
        """A connection that hears; `None` where none does."""
        connecting = asyncio.ensure_future(asyncio.to_thread(self._connect))
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            # A thread cannot be cancelled, and what it opens must be closed, be it after the wait.
            connecting.add_done_callback(_close_opened)
            await asyncio.wait([connecting], timeout=2 * _TRIAL_SECONDS)
            raise

    def _connect(self) -> Connection | None:
        connection = _taken_out(self._engine)
        try:
            if not self._hears(connection):
                connection.execute("UNLISTEN *")
                self._say_once()
                connection.close()
                return None
            for channel in self._channels:
                connection.execute(SQL("LISTEN {}").format(Identifier(channel)))
            return connection
        except BaseException:
            connection.close()
            raise

    def _hears(self, connection: Connection) -> bool:
        server = connection.execute("SELECT pg_backend_pid()").fetchone()
        if server is not None and server[0] == connection.info.backend_pid:
            return True
        # A pooler tells a process number of its own.
        connection.execute(f"LISTEN {_TRIAL}")
        payload = uuid.uuid4().hex
        with writing(self._engine) as other:
            other.execute(select(func.pg_notify(_TRIAL, payload)))
        with contextlib.closing(connection.notifies(timeout=_TRIAL_SECONDS)) as notices:
            heard = any(notice.payload == payload for notice in notices)
        connection.execute(f"UNLISTEN {_TRIAL}")
        return heard

    def _say_once(self) -> None:
        if not self._said:
            self._said = True
            logger.warning(
                "PostgreSQL's LISTEN does not reach this process, as behind a pooler in transaction mode: what other "
                "processes commit is looked for every 0.5 s. Open the engine with an address past the pooler to hear "
                "of it at once."
            )

    async def _listen(self, connection: Connection) -> None:
        """Returns when the connection is lost."""
        lost = asyncio.Event()
        loop = asyncio.get_running_loop()

        def read() -> None:
            try:
                for notice in connection.notifies(timeout=0):
                    self._heard(notice.channel, notice.payload)
            except psycopg.Error:
                loop.remove_reader(descriptor)
                lost.set()

        descriptor = connection.fileno()
        loop.add_reader(descriptor, read)
        self._works = True
        self._missed()
        try:
            await lost.wait()
        finally:
            self._works = False
            loop.remove_reader(descriptor)
            self._missed()


def _close_opened(connecting: asyncio.Future[Connection | None]) -> None:
    if not connecting.cancelled() and connecting.exception() is None and (opened := connecting.result()) is not None:
        opened.close()


def _taken_out(engine: Engine) -> Connection:
    """A connection like all others of the engine, but no longer in its pool."""
    pooled = engine.raw_connection()
    connection = cast("Connection", pooled.driver_connection)
    pooled.detach()
    connection.autocommit = True
    # Nothing is ever sent on it, so a server that is gone without a word would never be noticed.
    with contextlib.suppress(OSError), socket.socket(fileno=socket.dup(connection.fileno())) as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        kept.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _IDLE_SECONDS)
        kept.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_SECONDS)
        kept.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)
    return connection
