"""What people and the agent said."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from dexbridge.sessions.state.persisted import Instant, Persisted, now

__all__ = ["LeftOut", "Message", "Role", "UserMessage", "left_out_answers", "left_out_message", "with_marks"]


class Role(StrEnum):
    """Who said it."""

    USER = "user"
    ASSISTANT = "assistant"


class LeftOut(StrEnum):
    """Why the model is not given a message, or not again.

    `refused`: by the model's API, or by a hook of the application. `cancelled`: by the user, before the model got it.
    """

    REFUSED = "refused"
    CANCELLED = "cancelled"


class UserMessage(Persisted):
    """A message a session accepted; it waits its turn in the queue."""

    message_id: str
    text: str
    accepted_at: Instant


class Message(Persisted):
    """One line of the conversation as a person reads it.

    Attributes:
        left_out: Set when it is in the record only.
    """

    role: Role
    text: str
    turn: int
    at: Instant
    message_id: str | None = None
    left_out: LeftOut | None = None


def left_out_message(message_id: str, why: LeftOut, turn: int) -> Message:
    """A row that marks the message with that ID; rows are only appended, see `with_marks`."""
    return Message(role=Role.USER, text="", turn=turn, at=now(), message_id=message_id, left_out=why)


def left_out_answers(since_turn: int) -> Message:
    """A row that marks what the agent said since that turn."""
    return Message(role=Role.ASSISTANT, text="", turn=since_turn, at=now(), left_out=LeftOut.REFUSED)


def with_marks(rows: Iterable[Message]) -> tuple[Message, ...]:
    """The conversation of these stored rows: each message with the mark a later row gave it."""
    lines: list[Message] = []
    for row in rows:
        if row.left_out is None or row.text:
            # A line with words was marked as it was written.
            lines.append(row)
            continue
        for place, line in enumerate(lines):
            said_since = row.message_id is None and line.role is Role.ASSISTANT and line.turn >= row.turn
            if said_since or (row.message_id is not None and line.message_id == row.message_id):
                lines[place] = line.model_copy(update={"left_out": row.left_out})
    return tuple(lines)
