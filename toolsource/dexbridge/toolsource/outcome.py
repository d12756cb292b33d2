"""What became of one tool call, and what one attempt at it can end with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

__all__ = [
    "AttemptResult",
    "Completed",
    "Dispatch",
    "NotDone",
    "OutcomeKind",
    "Reconciled",
    "StillUnknown",
    "ToolOutcome",
    "Unsettled",
]


class OutcomeKind(StrEnum):
    """The outcome of a tool call, as records and snapshots show it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    OUTCOME_UNKNOWN = "outcome_unknown"
    REJECTED = "rejected"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The recorded end of a call.

    Attributes:
        kind: What became of it.
        text: What the model gets as the tool's result. Text only.
        receipt: The provider's proof, JSON-able; `None` when there is none.
        reconciled: Whether it was looked up at the provider afterwards, and is not the answer of the call itself.
    """

    kind: OutcomeKind
    text: str
    receipt: Mapping[str, Any] | None = field(default=None, hash=False)
    reconciled: bool = False

    @property
    def is_error(self) -> bool:
        """Whether the model sees the result as an error."""
        return self.kind is not OutcomeKind.SUCCEEDED


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Identity of one attempt of one tool Step.

    Attributes:
        flow_id: The session's ID.
        step_execution_id: Such as `CallSingleAttemptTool-1`.
        attempt: From 1.
        dispatch_before: Aware UTC; a request that has not left by then must not leave. `None`: no limit.
    """

    flow_id: str
    step_execution_id: str
    attempt: int = 1
    dispatch_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The attempt ended with a known outcome, or with a tool's own failure."""

    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class NotDone:
    """Proved: the attempt changed nothing, so another may be made after `delay`."""

    text: str
    delay: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Unsettled:
    """The attempt may or may not have changed something."""

    text: str


AttemptResult = Completed | NotDone | Unsettled


@dataclass(frozen=True, slots=True)
class StillUnknown:
    """Looking it up could not tell; `ask_again_at` is set when it was only too early."""

    text: str
    ask_again_at: datetime | None = None


Reconciled = ToolOutcome | StillUnknown
