"""What a Step or a request changes, as one value; an engine commits it whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.event import NewEvent
from dexbridge.sessions.state.message import Message
from dexbridge.sessions.state.session import SessionState

__all__ = ["Change", "MessageKey", "Refusal", "Repeated", "Settle", "TranscriptEntry", "Transition"]


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """One line of the agent framework's transcript, kept as it came.

    Attributes:
        json: The entry as JSON text.
        subpath: Where it belongs when it is not of the main conversation (a subagent's).
    """

    json: str
    subpath: str | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """The new state and what is appended beside it."""

    state: SessionState
    messages: tuple[Message, ...] = ()
    transcript: tuple[TranscriptEntry, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    events: tuple[NewEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nothing changes; the caller is told it was not accepted."""

    reason: str


@dataclass(frozen=True, slots=True)
class MessageKey:
    """What makes a message with an ID of the caller's own acceptable once.

    Attributes:
        message_id: The caller's.
        digest: SHA-256 of the text: the same ID with another text is refused.
    """

    message_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Repeated:
    """The same message was accepted before; nothing changes."""


Change = Callable[[SessionState], Transition | Refusal]
"""A pure function from the newest state; an engine may call it more than once."""

Settle = Callable[[SessionState, CallRecord], Transition | Refusal]
"""A change that needs the record of a call."""
