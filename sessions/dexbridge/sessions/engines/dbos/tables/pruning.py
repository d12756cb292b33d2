"""Deleting what is old."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Engine, delete, select, update

from dexbridge.sessions.engines.dbos.databases.database import reading, writing
from dexbridge.sessions.engines.dbos.tables.listing import holds_unknown
from dexbridge.sessions.engines.dbos.tables.schema import (
    attempts,
    calls,
    events,
    message_keys,
    messages,
    sessions,
    transcript,
)
from dexbridge.sessions.engines.dbos.tables.session_row import PRUNED, newest_row
from dexbridge.sessions.errors import UnreadableSession
from dexbridge.sessions.state.session import SessionStatus

__all__ = ["forget", "prune"]


def prune(engine: Engine, before: datetime) -> Sequence[tuple[str, int]]:
    """Deletes idle and ended sessions last changed before; returns their IDs and how many legs each had.

    One that holds an outcome nobody knows is kept until somebody settles it; settling takes the same lock.
    Those that were pruned earlier, but not forgotten, are returned too.
    """
    rest = (SessionStatus.IDLE.value, SessionStatus.ENDED.value)
    old = select(sessions.c.session_id).where(sessions.c.status.in_(rest), sessions.c.updated_at < before.isoformat())
    with reading(engine) as connection:
        candidates = list(connection.execute(old).scalars())
    for session_id in candidates:
        with contextlib.suppress(UnreadableSession), writing(engine) as connection:
            still = old.where(sessions.c.session_id == session_id).with_for_update()
            if connection.execute(still).scalar_one_or_none() is None:
                continue
            row = newest_row(connection, session_id)
            if holds_unknown(connection, session_id):
                continue
            for table in (messages, transcript, events, calls, attempts, message_keys):
                connection.execute(delete(table).where(table.c.session_id == session_id))
            # The row stays, so that the ID is never taken again; until it is forgotten, with the number of legs.
            connection.execute(
                update(sessions)
                .where(sessions.c.session_id == session_id)
                .values(status=PRUNED, state=str(row.state.legs), version=row.version + 1, commits="")
            )
    left = select(sessions.c.session_id, sessions.c.state).where(sessions.c.status == PRUNED, sessions.c.state != "")
    with reading(engine) as connection:
        return [(row.session_id, int(row.state)) for row in connection.execute(left)]


def forget(engine: Engine, session_ids: Sequence[str]) -> None:
    """Nothing is left of these pruned sessions but their IDs."""
    with writing(engine) as connection:
        for session_id in session_ids:
            connection.execute(update(sessions).where(sessions.c.session_id == session_id).values(state=""))
