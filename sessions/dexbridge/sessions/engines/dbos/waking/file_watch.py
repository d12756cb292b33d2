"""Sees at once that a SQLite file was changed, by whomever; what was changed must be looked up."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable

from sqlalchemy import Connection, Engine

from dexbridge.sessions.engines.dbos.databases.database import reading
from dexbridge.sessions.engines.dbos.legs.loop import in_own_thread
from dexbridge.sessions.errors import DatabaseUnavailable

__all__ = ["LOOK_SECONDS", "FileWatch"]

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.05
"""How often the file is looked at. A look is no transaction: it reads a counter in shared memory."""


class FileWatch:
    """See `Hearing`.

    Args:
        engine: The database.
        changed: Called in the loop when somebody, this process included, has committed.
    """

    def __init__(self, engine: Engine, changed: Callable[[], None]) -> None:
        self._engine = engine
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def works(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._watch, name="dexbridge-watch", daemon=True)
            self._thread.start()

    async def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            await in_own_thread(self._thread.join)

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                with reading(self._engine) as connection:
                    self._watch_through(connection)
            except (DatabaseUnavailable, sqlite3.Error) as error:
                logger.debug("The watch of the file begins anew: %s", error)
                self._stop.wait(1)

    def _watch_through(self, connection: Connection) -> None:
        # Not by SQLAlchemy, whose way to a statement is long for what is done so often.
        cursor = connection.connection.cursor()
        seen: int | None = None
        while not self._stop.is_set():
            # Half of what the wait for an event costs; a close waits for the sleep.
            time.sleep(LOOK_SECONDS)
            # Differs when another connection has committed since this one looked.
            version = cursor.execute("PRAGMA data_version").fetchone()[0]
            if version != seen:
                seen = version
                # A loop that is closed has nobody left to tell.
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._changed)
