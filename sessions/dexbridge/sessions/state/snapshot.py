"""What is true of a session now, for people and programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.interrupt import Interrupt
from dexbridge.sessions.state.message import Message
from dexbridge.sessions.state.session import SessionState
from dexbridge.toolsource import OutcomeKind

__all__ = ["SessionSnapshot", "SessionSummary"]


_TITLE = 100


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One line of a list of sessions: what it is doing, and what it wants from a person.

    Attributes:
        status: That of its state; `unreadable` when another version of dexbridge wrote it.
        updated_at: When it last changed.
        title: The beginning of its first message, at most 100 characters.
        failed: Whether its last turn failed.
        interrupt: The call that waits for a decision.
        unknown: Calls whose outcome nobody knows yet, oldest first.
    """

    session_id: str
    flow_type: str
    status: str
    updated_at: datetime
    title: str = ""
    failed: bool = False
    interrupt: Interrupt | None = None
    unknown: tuple[CallRecord, ...] = ()

    @classmethod
    def of(
        cls, state: SessionState, updated_at: datetime, first_message: str, calls: Iterable[CallRecord]
    ) -> SessionSummary:
        """The summary of a state, from its first message and at least those of its calls that are unknown."""
        return cls(
            session_id=state.session_id,
            flow_type=state.flow_type,
            status=state.status.value,
            updated_at=updated_at,
            title=first_message[:_TITLE],
            failed=state.last_error is not None,
            interrupt=state.pending_interrupt,
            unknown=tuple(call for call in calls if call.outcome is OutcomeKind.OUTCOME_UNKNOWN),
        )

    @property
    def wants(self) -> int:
        """How many decisions it waits for."""
        return (self.interrupt is not None) + len(self.unknown)


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """The committed state of a session.

    Attributes:
        state: The state itself.
        messages: The conversation, oldest first.
        calls: Every call with its outcome, Call ID and receipt, oldest first.
        last_event: Sequence of the newest event; `read_events(after=last_event)` goes on from here.
    """

    state: SessionState
    messages: tuple[Message, ...]
    calls: tuple[CallRecord, ...]
    last_event: int

    @property
    def unknown_calls(self) -> tuple[CallRecord, ...]:
        """The calls whose outcome nobody knows yet."""
        return tuple(call for call in self.calls if call.outcome is OutcomeKind.OUTCOME_UNKNOWN)

    def to_json(self) -> dict[str, Any]:
        """The snapshot as the routes of the documentation return it: `.snapshot.pending_interrupts[0].interrupt_id`."""
        state = self.state
        pending = [] if state.pending_interrupt is None else [state.pending_interrupt]
        return {
            "snapshot": {
                "session_id": state.session_id,
                "flow_type": state.flow_type,
                "status": state.status.value,
                "turn": state.turn,
                "due_step": None if state.due is None else state.due.id,
                "messages": [message.model_dump(mode="json") for message in self.messages],
                "queued_messages": [message.model_dump(mode="json") for message in (*state.steering, *state.queued)],
                "pending_interrupts": [interrupt.model_dump(mode="json") for interrupt in pending],
                "calls": [call.model_dump(mode="json") for call in self.calls],
                "last_error": state.last_error,
            },
            "last_event": self.last_event,
        }
