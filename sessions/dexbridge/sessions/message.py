"""What people and the agent said."""

from __future__ import annotations

from enum import StrEnum

from dexbridge.sessions.persisted import Instant, Persisted

__all__ = ["Message", "Role", "UserMessage"]


class Role(StrEnum):
    """Who said it."""

    USER = "user"
    ASSISTANT = "assistant"


class UserMessage(Persisted):
    """A message a session accepted; it waits its turn in the queue."""

    message_id: str
    text: str
    accepted_at: Instant


class Message(Persisted):
    """One line of the conversation as a person reads it."""

    role: Role
    text: str
    turn: int
    at: Instant
    message_id: str | None = None
