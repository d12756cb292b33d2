"""What happened in a session, in order; an append-only log."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from dexbridge.sessions.state.persisted import Instant, Persisted

__all__ = ["EventKind", "NewEvent", "SessionEvent"]


class EventKind(StrEnum):
    """The facts a session logs."""

    SESSION_STARTED = "session_started"
    MESSAGE_ACCEPTED = "message_accepted"
    TURN_STARTED = "turn_started"
    STEP_COMPLETED = "step_completed"
    INSIDE_CALL_BEGAN = "inside_call_began"
    INTERRUPT_OPENED = "interrupt_opened"
    INTERRUPT_RESOLVED = "interrupt_resolved"
    OUTCOME_UNKNOWN = "outcome_unknown"
    OUTCOME_SETTLED = "outcome_settled"
    TURN_ANSWERED = "turn_answered"
    TURN_FAILED = "turn_failed"
    TURN_CANCELLED = "turn_cancelled"
    TURN_STEERED = "turn_steered"
    LEFT_OUT = "left_out"
    STATE_LIMIT_NEAR = "state_limit_near"
    SESSION_ENDED = "session_ended"


class NewEvent(Persisted):
    """An event before it has its place in the log. `data` is JSON-able and holds no secret."""

    kind: EventKind
    data: dict[str, Any]


class SessionEvent(Persisted):
    """An event of the log; `sequence` starts at 1 and has no gaps."""

    sequence: int
    at: Instant
    kind: EventKind
    data: dict[str, Any]
