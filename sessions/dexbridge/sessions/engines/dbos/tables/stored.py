"""Reading what is stored, by whichever version of dexbridge wrote it."""

from __future__ import annotations

from typing import TypeVar

from pydantic import ValidationError

from dexbridge.sessions.errors import UnreadableSession
from dexbridge.sessions.state.event import EventKind
from dexbridge.sessions.state.persisted import Persisted

__all__ = ["stored", "stored_kind"]

V = TypeVar("V", bound=Persisted)


def stored(kind: type[V], text: str, session_id: str) -> V:
    """The value that was stored as JSON. Raises `UnreadableSession`."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        # Places only: the values are the session's.
        places = sorted({".".join(str(part) for part in fault["loc"]) for fault in error.errors()})
        raise UnreadableSession(session_id, f"{kind.__name__}: {', '.join(places[:5])}") from None


def stored_kind(kind: str, session_id: str) -> EventKind:
    """The kind of an event. Raises `UnreadableSession`."""
    try:
        return EventKind(kind)
    except ValueError:
        raise UnreadableSession(session_id, f"an event {kind!r}") from None
