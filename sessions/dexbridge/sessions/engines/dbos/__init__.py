"""Durable execution by DBOS, in a SQLite file or in Postgres."""

from dexbridge.sessions.engines.dbos.engine import DbosEngine

__all__ = ["DbosEngine"]
