"""The attempts this process makes: a Step that is run again here finds them, and the answers they got.

Without this an answer would live in the Step's coroutine alone, and be lost with it while its process lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dexbridge.sessions.hosting.ledger import Attempt, AttemptLedger, AttemptState
from dexbridge.toolsource import AttemptResult, Unsettled

__all__ = ["AttemptsHere", "LedgerHere"]

_Key = tuple[str, str, int, str]


class AttemptsHere:
    """Attempts begun in this process whose end is not recorded yet, each in a task of its own.

    A row of the ledger is matched by its owner too: only the run that inserted it may have sent anything.
    """

    def __init__(self) -> None:
        self._tasks: dict[_Key, asyncio.Task[AttemptResult]] = {}

    def begun(self, session_id: str, attempt: Attempt) -> bool:
        """Whether this process made that attempt, and has not recorded its end."""
        return _key(session_id, attempt) in self._tasks

    async def make(
        self, session_id: str, attempt: Attempt, work: Callable[[], Coroutine[Any, Any, AttemptResult]]
    ) -> AttemptResult:
        """Makes the attempt, or waits for it when it was begun before: the work is never done twice.

        Cancelling the caller leaves the attempt alone.
        """
        key = _key(session_id, attempt)
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(work())
        await asyncio.wait([task])
        if task.cancelled():
            return Unsettled("The call was cancelled from inside.")
        return task.result()

    def forget(self, session_id: str, attempt: Attempt) -> None:
        """Its end is recorded."""
        self._tasks.pop(_key(session_id, attempt), None)

    def cancel(self) -> None:
        """The process closes; what did not end by now is looked up by the next one."""
        for task in self._tasks.values():
            task.cancel()


@dataclass(frozen=True, slots=True)
class LedgerHere:
    """The ledger of one run, with what this process knows of its rows; see `StepLedger`."""

    rows: AttemptLedger
    here: AttemptsHere
    session_id: str

    async def last(self, step_execution_id: str) -> Attempt | None:
        return await self.rows.last(step_execution_id)

    async def open(self, step_execution_id: str, number: int, window: timedelta) -> Attempt | None:
        return await self.rows.open(step_execution_id, number, window)

    async def close(
        self, attempt: Attempt, state: AttemptState, outcome: dict[str, Any] | None, at: datetime
    ) -> Attempt:
        closed = await self.rows.close(attempt, state, outcome, at)
        self.here.forget(self.session_id, attempt)
        return closed

    def begun_here(self, attempt: Attempt) -> bool:
        return self.here.begun(self.session_id, attempt)

    async def make(self, attempt: Attempt, work: Callable[[], Coroutine[Any, Any, AttemptResult]]) -> AttemptResult:
        return await self.here.make(self.session_id, attempt, work)


def _key(session_id: str, attempt: Attempt) -> _Key:
    return session_id, attempt.step_execution_id, attempt.number, attempt.owner
