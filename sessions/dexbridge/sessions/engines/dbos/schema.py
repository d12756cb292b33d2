"""Our tables, beside DBOS's own in the same database.

Only `dexbridge_sessions` and `dexbridge_calls` rows are ever updated; everything else is appended.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, Text

__all__ = ["METADATA", "attempts", "calls", "events", "messages", "sessions", "transcript"]

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
)

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

Index("dexbridge_sessions_status", sessions.c.status)
