"""The row of a session."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from dexbridge.sessions.engines.dbos.tables.schema import sessions
from dexbridge.sessions.engines.dbos.tables.stored import stored
from dexbridge.sessions.errors import UnknownSession
from dexbridge.sessions.state.session import SessionState

__all__ = ["PRUNED", "SessionRow", "newest_row"]

PRUNED = "pruned"
"""Status of a row that only keeps its ID from being taken again."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """What the newest row of a session says.

    Attributes:
        state: The state.
        version: Grows with each commit.
        commits: The marks of the last commits; see `CommitMark`.
    """

    state: SessionState
    version: int
    commits: str


def newest_row(connection: Connection, session_id: str, *, lock: bool = False) -> SessionRow:
    """The row as it is, locked until the transaction ends if asked for. Raises `UnknownSession`."""
    columns = (sessions.c.state, sessions.c.version, sessions.c.status, sessions.c.commits)
    query = select(*columns).where(sessions.c.session_id == session_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None or row.status == PRUNED:
        raise UnknownSession(session_id)
    return SessionRow(stored(SessionState, row.state, session_id), row.version, row.commits)
