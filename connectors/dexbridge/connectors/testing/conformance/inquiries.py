"""A call whose answer is lost, and the look for it afterwards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from dexbridge.connectors.contract.attempts.attempt import Uncertain
from dexbridge.connectors.contract.attempts.reconciliation import CannotTell, FoundNotSent, Reconciliation
from dexbridge.connectors.testing.conformance.example import Example
from dexbridge.connectors.testing.conformance.stage import Stage, require
from dexbridge.connectors.testing.conformance.words import shown, told
from dexbridge.connectors.testing.faults import Answered, Fault
from dexbridge.connectors.testing.local_server import ANY_REQUEST

MOST_READS: Final = 20


@dataclass(frozen=True)
class Look:
    """What one look found, in how many requests, and how much the provider showed it, in characters."""

    found: Reconciliation
    reads: int
    size: int

    @property
    def says_not_sent(self) -> bool:
        """It says that the call was not carried out, be it that it is too early to conclude it."""
        return isinstance(self.found, FoundNotSent) or (isinstance(self.found, CannotTell) and self.found.too_early)

    def __str__(self) -> str:
        return told(self.found)


async def lose(stage: Stage[Any], operation_id: str, example: Example, loss: Fault) -> tuple[datetime, datetime]:
    """Makes the example's call without getting its answer; returns when it was opened and when it ended."""
    before = datetime.now(UTC)
    stage.server.fail_next(ANY_REQUEST, loss)
    attempt = await stage.dispatch(operation_id, example.arguments)
    require(
        isinstance(attempt, Uncertain),
        f"A lost answer makes {operation_id} uncertain, not {shown(attempt)}: let HttpPool's errors through.",
    )
    return before, datetime.now(UTC)


async def look(stage: Stage[Any], operation_id: str, example: Example, opened_at: datetime, ended_by: datetime) -> Look:
    """Looks for the example's call."""
    requests, answers = len(stage.server.requests), len(stage.server.answered)
    found = await stage.bound[operation_id].reconcile(
        stage.call(operation_id), example.arguments, opened_at=opened_at, ended_by=ended_by
    )
    size = sum(map(_size, stage.server.answered[answers:]))
    return Look(found, len(stage.server.requests) - requests, size)


def _size(answered: Answered) -> int:
    return len(answered.text if answered.text is not None else json.dumps(answered.payload))
