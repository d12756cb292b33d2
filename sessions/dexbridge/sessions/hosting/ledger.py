"""The attempt ledger: a row is committed before every request, so that none is ever made twice.

Source: architecture decision 4. Engines run an interrupted Step again; only the run that inserted a row may send.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from dexbridge.sessions.state.persisted import Instant, Persisted
from dexbridge.toolsource import AttemptResult

__all__ = ["DISPATCH_WINDOW", "RECONCILE_MARGIN", "Attempt", "AttemptLedger", "AttemptState", "StepLedger"]

DISPATCH_WINDOW = timedelta(seconds=5)
"""How long after its row was written a request may still leave."""

RECONCILE_MARGIN = timedelta(seconds=3)
"""Waited beyond `dispatch_before` plus the request's timeout before "not sent" may be concluded."""


class AttemptState(StrEnum):
    """What is known of one attempt."""

    OPEN = "open"
    NOT_DONE = "not_done"
    ENDED = "ended"


class Attempt(Persisted):
    """One row: at most one request.

    Attributes:
        number: From 1 per tool Step.
        owner: Token of the run that may send; nobody else may.
        outcome: JSON of the outcome when `state` is `ENDED`; `None` otherwise.
    """

    step_execution_id: str
    number: int
    owner: str
    opened_at: Instant
    dispatch_before: Instant
    state: AttemptState = AttemptState.OPEN
    closed_at: Instant | None = None
    outcome: dict[str, Any] | None = None


class AttemptLedger(Protocol):
    """The attempts of one session. Every method commits before it returns, and waits for the database until then."""

    async def last(self, step_execution_id: str) -> Attempt | None:
        """The newest row of that tool Step."""
        ...

    async def open(self, step_execution_id: str, number: int, window: timedelta) -> Attempt | None:
        """Inserts row `number`; `None` when somebody else has inserted it, who then may send and we may not.

        A row whose commit was not answered is read back by its owner: it is ours, and nothing was sent under it.

        Raises:
            StepFenced: Another run has taken over.
            DispatchCancelled: The turn is being cancelled.
        """
        ...

    async def close(
        self, attempt: Attempt, state: AttemptState, outcome: dict[str, Any] | None, at: datetime
    ) -> Attempt:
        """Records how the attempt ended and returns the row; one that is already closed keeps its first end.

        But a known end settles one that another run had to leave unknown.
        """
        ...


class StepLedger(AttemptLedger, Protocol):
    """The attempts as a Step sees them: the rows, and what this process itself makes and has made of them."""

    def begun_here(self, attempt: Attempt) -> bool:
        """Whether this process made the attempt, and has not recorded its end: then `make` tells how it ended."""
        ...

    async def make(self, attempt: Attempt, work: Callable[[], Coroutine[Any, Any, AttemptResult]]) -> AttemptResult:
        """Makes the attempt; one that was begun here before is only waited for."""
        ...
