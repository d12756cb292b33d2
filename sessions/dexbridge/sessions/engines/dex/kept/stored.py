"""What a session's Flow keeps on the Dex Server, as text with the version of its format.

Every Attribute, Channel message, Stream message and RPC value of ours is a string of this form. The SDK's own codec for
dataclasses wants every field to be there, so it could not read what an older version wrote.
"""

from __future__ import annotations

import json
from typing import TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from dexbridge.sessions.errors import UnreadableSession
from dexbridge.sessions.hosting.ledger import Attempt
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.event import EventKind, SessionEvent
from dexbridge.sessions.state.message import Message
from dexbridge.sessions.state.persisted import Instant, Persisted
from dexbridge.sessions.state.session import SessionState

__all__ = [
    "Commit",
    "Due",
    "Envelope",
    "Notice",
    "Once",
    "ReadRequest",
    "Rows",
    "Segment",
    "Staged",
    "decode",
    "encode",
]

FORMAT = 1
"""Raise it when a value changes so that the version before could misread it, and read both in `decode`."""

V = TypeVar("V", bound=Persisted)


class Segment(Persisted):
    """Where the transcript of one committed segment is: `parts` entries of the map `transcript`, `<token>.<number>`."""

    token: str
    parts: int


class Envelope(Persisted):
    """The Attribute `session`: the state, and what is needed to find what only grows.

    Attributes:
        version: Grows with each commit, which is a compare-and-set on it.
        token: Whose commit the last one was; a caller that got no answer recognises its own.
        call_ids: Step execution IDs of the recorded calls.
        segments: The transcript, oldest first.
        pruned: Nothing but the session's ID is kept.
    """

    version: int
    token: str
    updated_at: Instant
    state: SessionState
    call_ids: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    pruned: bool = False


class Once(Persisted):
    """A message that must be accepted once: hash of its caller's ID, and of its text."""

    key: str
    digest: str


class Commit(Persisted):
    """What one commit writes, and the version it was made from."""

    expected: int
    token: str
    state: SessionState
    messages: tuple[Message, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    events: tuple[SessionEvent, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    once: Once | None = None
    segment: Segment | None = None
    parts: tuple[str, ...] = ()


class Notice(Persisted):
    """What the Stream says of an event: that it is in the log. A Stream cannot be pruned, so it tells no content."""

    sequence: int
    at: Instant
    kind: EventKind


class Due(Persisted):
    """The input of a Step: which execution it is.

    Attributes:
        step: Its Step execution ID, which is the one Dex gives it too.
        void: It was due and then was not; it passes, so that Dex counts it as the session did.
    """

    step: str
    void: bool = False


class ReadRequest(Persisted):
    """Which entries are wanted: map and instance of each."""

    rows: tuple[tuple[str, str], ...] = ()


class Staged(Persisted):
    """Pieces of a transcript that a commit will name, from number `first`."""

    token: str
    first: int
    parts: tuple[str, ...]


class Rows(Persisted):
    """Entries of AttributeMaps by physical name; those that do not exist are left out."""

    session: str
    rows: dict[str, str] = Field(default_factory=dict[str, str])


def encode(value: Persisted) -> str:
    """The value as text. Raises `UnicodeEncodeError` for half a surrogate pair, which has no UTF-8 form."""
    text = f'{{"format":{FORMAT},"value":{value.model_dump_json()}}}'
    text.encode("utf-8")
    return text


def decode(kind: type[V], text: str, session_id: str) -> V:
    """The value of a text that this or an older version wrote. Raises `UnreadableSession`."""
    try:
        stored = json.loads(text)
        written_as = stored["format"]
        if not isinstance(written_as, int) or not 1 <= written_as <= FORMAT:
            raise UnreadableSession(session_id, f"{kind.__name__}: format {written_as!r}")
        return TypeAdapter(kind).validate_python(stored["value"])
    except ValidationError as error:
        # Places only: the values are the session's.
        places = sorted({".".join(str(part) for part in fault["loc"]) for fault in error.errors()})
        raise UnreadableSession(session_id, f"{kind.__name__}: {', '.join(places[:5])}") from None
    except (ValueError, KeyError, TypeError):
        raise UnreadableSession(session_id, kind.__name__) from None
