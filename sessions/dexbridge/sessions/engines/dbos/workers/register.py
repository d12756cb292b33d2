"""Which Workers live: each writes a row now and then, by the database's clock."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from dexbridge.sessions.engines.dbos.databases.clock import clock_of, moment
from dexbridge.sessions.engines.dbos.databases.database import outage_of, reading, writing
from dexbridge.sessions.engines.dbos.tables.schema import sessions, workers
from dexbridge.sessions.errors import DatabaseUnavailable
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionStatus

__all__ = ["BEAT_SECONDS", "LOST_AFTER_SECONDS", "Sighting", "WorkerRegister"]

BEAT_SECONDS = 2.0
"""How often a Worker says that it lives."""

LOST_AFTER_SECONDS = 8.0
"""Silence after which a Worker's legs are taken over."""

_FORGET_AFTER_SECONDS = 86_400.0
_CLOCK_OFF_SECONDS = 2.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a sign of life saw in the transaction that gave it.

    Attributes:
        living: The Workers that were seen lately, this one included.
        running: Versions of the sessions with an open leg, of the flows this Worker serves, by session ID.
    """

    living: frozenset[str]
    running: Mapping[str, int]


class WorkerRegister:
    """The living Workers of a database. Methods block; call them in a thread.

    Args:
        engine: The database.
        worker_id: This Worker.
        flow_types: The flows it serves.
        seen: Told, in a thread of the register's own, what each sign of life saw.
    """

    def __init__(
        self, engine: Engine, worker_id: str, flow_types: Collection[str], seen: Callable[[Sighting], None]
    ) -> None:
        self._engine = engine
        self.worker_id = worker_id
        self._flow_types = flow_types
        self._seen = seen
        self._leaving = threading.Event()
        self._beating = threading.Thread(target=self._beat_for_ever, name="dexbridge-beat", daemon=True)
        self._insert = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert
        # Workers on several machines are compared by one clock.
        self._clock = clock_of(engine)
        self._clock_is_off = False

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
                logger.warning("The sign of life of %s raised %s.", self.worker_id, type(error).__name__)

    def beat(self) -> None:
        """Says that this Worker lives, and looks about in the same transaction.

        A SQLite file has one Worker, so there it only looks. But what can be read may not be written, and a database
        that is away is back when it can be.
        """
        if self._engine.dialect.name == "sqlite" and not outage_of(self._engine).lasts:
            with reading(self._engine) as connection:
                sighting = Sighting(frozenset({self.worker_id}), self._running(connection))
        else:
            row = self._insert(workers).values(worker_id=self.worker_id, started_at=now().isoformat(), seen=self._clock)
            says = row.on_conflict_do_update(index_elements=[workers.c.worker_id], set_={"seen": self._clock})
            with writing(self._engine) as connection:
                before = now()
                clock = moment(connection.execute(says.returning(workers.c.seen)).scalar_one())
                after = now()
                sighting = Sighting(self._living(connection), self._running(connection))
            self._compare_clocks(max((clock - after).total_seconds(), 0), max((before - clock).total_seconds(), 0))
        self._seen(sighting)

    def leave(self) -> None:
        """Says that this Worker is gone, and forgets those that went long ago without a word."""
        self._leaving.set()
        if self._beating.is_alive():
            self._beating.join()
        with writing(self._engine) as connection:
            connection.execute(delete(workers).where(workers.c.worker_id == self.worker_id))
            connection.execute(delete(workers).where(workers.c.seen < self._clock - _FORGET_AFTER_SECONDS))

    def living(self) -> frozenset[str]:
        """The Workers that were seen lately, this one included."""
        with reading(self._engine) as connection:
            return self._living(connection)

    def _living(self, connection: Connection) -> frozenset[str]:
        query = select(workers.c.worker_id).where(workers.c.seen >= self._clock - LOST_AFTER_SECONDS)
        return frozenset({*connection.execute(query).scalars(), self.worker_id})

    def _running(self, connection: Connection) -> Mapping[str, int]:
        query = select(sessions.c.session_id, sessions.c.version).where(
            sessions.c.status == SessionStatus.RUNNING.value, sessions.c.flow_type.in_(self._flow_types)
        )
        return {row.session_id: row.version for row in connection.execute(query)}

    def _compare_clocks(self, behind: float, ahead: float) -> None:
        """Says once that this machine's clock is off: approvals, events and logs have its times."""
        off = max(behind, ahead) > _CLOCK_OFF_SECONDS
        if off and not self._clock_is_off:
            logger.warning(
                "The clock of this machine is %.0f s %s the database's: what it dates is off by that much. Calls are "
                "safe, whose times are the database's. Set the clock, best with NTP.",
                max(behind, ahead),
                "behind" if behind else "ahead of",
            )
        self._clock_is_off = off
