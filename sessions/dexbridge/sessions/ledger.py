"""The attempt ledger: a row is committed before every request, so that none is ever made twice.

Source: architecture decision 4. Engines run an interrupted Step again; only the run that inserted a row may send.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from dexbridge.sessions.persisted import Instant, Persisted

__all__ = ["DISPATCH_WINDOW", "RECONCILE_MARGIN", "Attempt", "AttemptLedger", "AttemptState"]

DISPATCH_WINDOW = timedelta(seconds=5)
"""How long after its row was written a request may still leave."""

RECONCILE_MARGIN = timedelta(seconds=5)
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
    """The attempts of one session. Every method commits before it returns."""

    async def last(self, step_execution_id: str) -> Attempt | None:
        """The newest row of that tool Step."""
        ...

    async def open(self, step_execution_id: str, number: int, window: timedelta) -> Attempt | None:
        """Inserts row `number`; `None` when somebody else has inserted it, who then may send and we may not.

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
