"""The attempt ledger in the database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, Select, insert, select, update
from sqlalchemy.exc import IntegrityError

from dexbridge.sessions.engines.dbos.databases.clock import clock_of, moment
from dexbridge.sessions.engines.dbos.databases.database import reading, writing
from dexbridge.sessions.engines.dbos.tables.schema import attempts, sessions
from dexbridge.sessions.engines.dbos.tables.stored import stored
from dexbridge.sessions.errors import DispatchCancelled, StepFenced
from dexbridge.sessions.hosting.ledger import Attempt, AttemptState
from dexbridge.sessions.hosting.patience import until_back
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState
from dexbridge.toolsource import OutcomeKind

__all__ = ["SqlAttemptLedger"]


@dataclass(frozen=True, slots=True)
class SqlAttemptLedger:
    """The attempts of one session.

    The rows are dated by the database's clock, and what is read has the times of this process's clock: a Worker that
    judges another's row may have a clock that is minutes off, and would say "not sent" of a request under way.

    Attributes:
        engine: The database.
        session_id: The session.
        owner: Token of this run, written into the rows it opens.
        is_ours: Whether the session, in its newest state, is still this run's. One that was taken over may open no
            row: the other run has drawn its conclusion from the rows it found.
    """

    engine: Engine
    session_id: str
    owner: str
    is_ours: Callable[[SessionState], bool]

    async def last(self, step_execution_id: str) -> Attempt | None:
        return await until_back(lambda: asyncio.to_thread(self._last, step_execution_id))

    async def open(self, step_execution_id: str, number: int, window: timedelta) -> Attempt | None:
        return await until_back(lambda: asyncio.to_thread(self._open, step_execution_id, number, window))

    async def close(
        self, attempt: Attempt, state: AttemptState, outcome: dict[str, Any] | None, at: datetime
    ) -> Attempt:
        # What is known must not become unknown because the database is away.
        return await until_back(lambda: asyncio.to_thread(self._close, attempt, state, outcome, at))

    def _last(self, step_execution_id: str) -> Attempt | None:
        return self._found(self._rows(step_execution_id).order_by(attempts.c.number.desc()).limit(1))

    def _row(self, step_execution_id: str, number: int) -> Attempt | None:
        return self._found(self._rows(step_execution_id).where(attempts.c.number == number))

    def _rows(self, step_execution_id: str) -> Select[Any, float]:
        return select(attempts.c.attempt, clock_of(self.engine).label("clock")).where(
            attempts.c.session_id == self.session_id, attempts.c.step_execution_id == step_execution_id
        )

    def _found(self, query: Select[Any, float]) -> Attempt | None:
        with reading(self.engine) as connection:
            row = connection.execute(query).one_or_none()
        # The way of the answer is in it too, so that nothing is thought to be over too early.
        return None if row is None else _moved(stored(Attempt, row.attempt, self.session_id), now() - moment(row.clock))

    def _open(self, step_execution_id: str, number: int, window: timedelta) -> Attempt | None:
        opened = now()
        attempt = Attempt(
            step_execution_id=step_execution_id,
            number=number,
            owner=self.owner,
            opened_at=opened,
            dispatch_before=opened + window,
        )
        try:
            with writing(self.engine) as connection:
                row = connection.execute(
                    select(sessions.c.state, clock_of(self.engine).label("clock"))
                    .where(sessions.c.session_id == self.session_id)
                    .with_for_update()
                ).one()
                newest = stored(SessionState, row.state, self.session_id)
                if not self.is_ours(newest):
                    raise StepFenced(f"{step_execution_id} of {self.session_id!r} was taken over; it sends nothing.")
                if newest.cancelling:
                    raise DispatchCancelled(f"The turn of {self.session_id!r} is being cancelled; nothing is sent.")
                connection.execute(
                    insert(attempts).values(
                        session_id=self.session_id,
                        step_execution_id=step_execution_id,
                        number=number,
                        attempt=_moved(attempt, moment(row.clock) - opened).model_dump_json(),
                    )
                )
        except IntegrityError:
            # By another run; or by an earlier try of this one, whose answer was lost: then nothing was sent under it.
            found = self._row(step_execution_id, number)
            return found if found is not None and found.owner == self.owner else None
        return attempt

    def _close(self, attempt: Attempt, state: AttemptState, outcome: dict[str, Any] | None, at: datetime) -> Attempt:
        key = (
            (attempts.c.session_id == self.session_id)
            & (attempts.c.step_execution_id == attempt.step_execution_id)
            & (attempts.c.number == attempt.number)
        )
        with writing(self.engine) as connection:
            text = connection.execute(select(attempts.c.attempt).where(key).with_for_update()).scalar_one()
            kept = stored(Attempt, text, self.session_id)
            if kept.state is not AttemptState.OPEN and not _settles(kept, outcome):
                return kept
            closed = kept.model_copy(update={"state": state, "closed_at": at, "outcome": outcome})
            connection.execute(update(attempts).where(key).values(attempt=closed.model_dump_json()))
            return closed


def _moved(attempt: Attempt, offset: timedelta) -> Attempt:
    """The attempt by another clock."""
    return attempt.model_copy(
        update={"opened_at": attempt.opened_at + offset, "dispatch_before": attempt.dispatch_before + offset}
    )


def _settles(kept: Attempt, outcome: dict[str, Any] | None) -> bool:
    """A late true answer settles what another run had to leave unknown."""
    unknown = OutcomeKind.OUTCOME_UNKNOWN.value
    return (
        outcome is not None
        and outcome["kind"] != unknown
        and kept.outcome is not None
        and kept.outcome["kind"] == unknown
    )
