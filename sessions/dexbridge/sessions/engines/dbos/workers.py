"""Which Workers live: each writes a row now and then, by the database's clock."""

from __future__ import annotations

import logging
import threading

from sqlalchemy import ColumnElement, Engine, Float, delete, literal_column, select
from sqlalchemy.dialects import postgresql, sqlite

from dexbridge.sessions.engines.dbos.database import reading, writing
from dexbridge.sessions.engines.dbos.schema import workers
from dexbridge.sessions.errors import DatabaseUnavailable
from dexbridge.sessions.persisted import now

__all__ = ["BEAT_SECONDS", "LOST_AFTER_SECONDS", "WorkerRegister"]

BEAT_SECONDS = 2.0
"""How often a Worker says that it lives."""

LOST_AFTER_SECONDS = 8.0
"""Silence after which a Worker's legs are taken over."""

_FORGET_AFTER_SECONDS = 86_400.0

logger = logging.getLogger(__name__)


class WorkerRegister:
    """The living Workers of a database. Methods block; call them in a thread.

    Args:
        engine: The database.
        worker_id: This Worker.
    """

    def __init__(self, engine: Engine, worker_id: str) -> None:
        self._engine = engine
        self._worker_id = worker_id
        self._leaving = threading.Event()
        self._beating = threading.Thread(target=self._beat_for_ever, name="dexbridge-beat", daemon=True)
        postgres = engine.dialect.name == "postgresql"
        self._insert = postgresql.insert if postgres else sqlite.insert
        # The database's clock, in seconds: Workers on several machines are compared by one clock.
        self._clock: ColumnElement[float] = literal_column(
            "extract(epoch from clock_timestamp())" if postgres else "((julianday('now') - 2440587.5) * 86400.0)", Float
        )

    def start(self) -> None:
        """Says that this Worker lives, now and from now on.

        From a thread of its own: a function of the application that blocks the event loop must not make this Worker
        look lost, and its segments be thrown away.
        """
        self.beat()
        self._beating.start()

    def _beat_for_ever(self) -> None:
        while not self._leaving.wait(BEAT_SECONDS):
            try:
                self.beat()
            except DatabaseUnavailable:
                continue  # `Outage` has said it
            except Exception as error:  # noqa: BLE001 - the next beat tries again
                logger.warning("The sign of life of %s raised %s.", self._worker_id, type(error).__name__)

    def beat(self) -> None:
        """Says that this Worker lives."""
        row = self._insert(workers).values(worker_id=self._worker_id, started_at=now().isoformat(), seen=self._clock)
        with writing(self._engine) as connection:
            connection.execute(
                row.on_conflict_do_update(index_elements=[workers.c.worker_id], set_={"seen": self._clock})
            )

    def leave(self) -> None:
        """Says that this Worker is gone, and forgets those that went long ago without a word."""
        self._leaving.set()
        if self._beating.is_alive():
            self._beating.join()
        with writing(self._engine) as connection:
            connection.execute(delete(workers).where(workers.c.worker_id == self._worker_id))
            connection.execute(delete(workers).where(workers.c.seen < self._clock - _FORGET_AFTER_SECONDS))

    def living(self) -> frozenset[str]:
        """The Workers that were seen lately, this one included."""
        query = select(workers.c.worker_id).where(workers.c.seen >= self._clock - LOST_AFTER_SECONDS)
        with reading(self._engine) as connection:
            return frozenset({*connection.execute(query).scalars(), self._worker_id})
