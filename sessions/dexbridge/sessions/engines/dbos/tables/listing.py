"""The list of sessions, with what each wants from a person, in three queries a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from dexbridge.sessions.engines.dbos.tables.schema import calls, messages, sessions
from dexbridge.sessions.engines.dbos.tables.session_row import PRUNED
from dexbridge.sessions.engines.dbos.tables.stored import stored
from dexbridge.sessions.errors import UnreadableSession
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.message import Message
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.snapshot import SessionSummary
from dexbridge.toolsource import OutcomeKind

__all__ = ["holds_unknown", "list_sessions"]


def list_sessions(
    connection: Connection, limit: int, after: str | None, changed_since: datetime | None
) -> Sequence[SessionSummary]:
    """Sessions in the order of their IDs."""
    query = select(sessions).where(sessions.c.status != PRUNED).order_by(sessions.c.session_id).limit(limit)
    if after is not None:
        query = query.where(sessions.c.session_id > after)
    if changed_since is not None:
        query = query.where(sessions.c.updated_at >= changed_since.isoformat())
    rows = connection.execute(query).all()
    found = [row.session_id for row in rows]
    first = connection.execute(
        select(messages.c.session_id, messages.c.message).where(
            messages.c.session_id.in_(found), messages.c.sequence == 1
        )
    )
    titles = {row.session_id: row.message for row in first}
    records = _maybe_unknown(connection, found)
    return [_summary(row, titles.get(row.session_id), records[row.session_id]) for row in rows]


def holds_unknown(connection: Connection, session_id: str) -> bool:
    """Whether the session has a call whose outcome nobody knows. Raises `UnreadableSession`."""
    records = _maybe_unknown(connection, [session_id])[session_id]
    return any(stored(CallRecord, record, session_id).outcome is OutcomeKind.OUTCOME_UNKNOWN for record in records)


def _maybe_unknown(connection: Connection, session_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
    # The text only narrows the rows down; an argument may hold it too.
    query = (
        select(calls.c.session_id, calls.c.record)
        .where(calls.c.session_id.in_(session_ids), calls.c.record.contains(OutcomeKind.OUTCOME_UNKNOWN.value))
        .order_by(calls.c.started_at)
    )
    records: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(query):
        records[row.session_id].append(row.record)
    return records


def _summary(row: Row[Any], first: str | None, records: Sequence[str]) -> SessionSummary:
    session_id: str = row.session_id
    updated_at = datetime.fromisoformat(row.updated_at)
    try:
        return SessionSummary.of(
            stored(SessionState, row.state, session_id),
            updated_at,
            "" if first is None else stored(Message, first, session_id).text,
            [stored(CallRecord, record, session_id) for record in records],
        )
    except UnreadableSession:
        return SessionSummary(session_id, row.flow_type, "unreadable", updated_at)
