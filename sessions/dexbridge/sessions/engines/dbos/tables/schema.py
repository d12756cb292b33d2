"""Our tables, beside DBOS's own in the same database.

Rows of `dexbridge_sessions`, `dexbridge_calls` and `dexbridge_attempts` are updated; the rest is appended.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, MetaData, String, Table, Text

__all__ = [
    "METADATA",
    "attempts",
    "calls",
    "events",
    "marks",
    "message_keys",
    "messages",
    "schema",
    "sessions",
    "transcript",
    "workers",
]

METADATA = MetaData()

_ID = String(200)

sessions = Table(
    "dexbridge_sessions",
    METADATA,
    Column("session_id", _ID, primary_key=True),
    Column("flow_type", String(200), nullable=False),
    Column("status", String(20), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("updated_at", String(40), nullable=False),
    Column("commits", Text, nullable=False, server_default=""),
)
"""`commits` holds the marks of the last ones, so that one whose answer was lost is read back; see `CommitMark`."""

messages = Table(
    "dexbridge_messages",
    METADATA,
    Column("session_id", _ID, primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("message", Text, nullable=False),
)

transcript = Table(
    "dexbridge_transcript",
    METADATA,
    Column("session_id", _ID, primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("subpath", Text, nullable=True),
    Column("entry", Text, nullable=False),
)

events = Table(
    "dexbridge_events",
    METADATA,
    Column("session_id", _ID, primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("at", String(40), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("data", Text, nullable=False),
)

calls = Table(
    "dexbridge_calls",
    METADATA,
    Column("session_id", _ID, primary_key=True),
    Column("step_execution_id", String(80), primary_key=True),
    Column("started_at", String(40), nullable=False),
    Column("record", Text, nullable=False),
)

attempts = Table(
    "dexbridge_attempts",
    METADATA,
    Column("session_id", _ID, primary_key=True),
    Column("step_execution_id", String(80), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Text, nullable=False),
)

message_keys = Table(
    "dexbridge_message_keys",
    METADATA,
    Column("session_id", _ID, primary_key=True),
    Column("message_id", _ID, primary_key=True),
    Column("digest", String(64), nullable=False),
)

workers = Table(
    "dexbridge_workers",
    METADATA,
    Column("worker_id", String(80), primary_key=True),
    Column("started_at", String(40), nullable=False),
    Column("seen", Float, nullable=False),
)

marks = Table(
    "dexbridge_marks",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("until", Float, nullable=False),
)

schema = Table(
    "dexbridge_schema",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
)
"""One row: which version of these tables the database has. See `schema_version`."""

Index("dexbridge_sessions_status", sessions.c.status)
