"""What is true of a session now, for people and programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dexbridge.sessions.call import CallRecord
from dexbridge.sessions.message import Message
from dexbridge.sessions.state import SessionState

__all__ = ["SessionSnapshot", "SessionSummary"]


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One line of a list of sessions."""

    session_id: str
    flow_type: str
    status: str
    updated_at: str


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

    def to_json(self) -> dict[str, Any]:
        """The snapshot as the routes of the documentation return it: `.snapshot.pending_interrupts[0].interrupt_id`."""
        state = self.state
        pending = [] if state.interrupt is None or state.decision is not None else [state.interrupt]
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
