"""What every connection to a database of ours needs, whoever opens it: we, or DBOS from a URL.

A plugin of SQLAlchemy, since `DBOS.migrate` takes nothing but a URL, and a URL can name plugins. Through a pool between
us and Postgres, as PgBouncer's, a connection is another one in each transaction: nothing may rest on what was set or
prepared in an earlier one.
"""

from __future__ import annotations

import select
import sqlite3
from typing import Any

import psycopg
from sqlalchemy import URL, Connection, Engine, event
from sqlalchemy.dialects import plugins
from sqlalchemy.engine import CreateEnginePlugin
from sqlalchemy.exc import InvalidatePoolError

from dexbridge.sessions.engines.dbos.databases import sqlite_clock

__all__ = ["PLUGIN", "EveryConnection"]

PLUGIN = "dexbridge"
"""For `create_engine(plugins=[PLUGIN])`, or as `plugin` in a URL."""

_POOLED = "dexbridge_pooled"
# A Worker that is frozen or cut off in the middle of a transaction must not keep a session locked for the others. And
# DBOS has statements outside of a transaction too, whose level is that of the session.
_SESSION = """
    SET idle_in_transaction_session_timeout = '5s';
    SET lock_timeout = '15s';
    SET default_transaction_isolation = 'read committed'
"""
_TRANSACTION = "SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL lock_timeout = '15s'"


class EveryConnection(CreateEnginePlugin):
    """Prepares the connections of an engine."""

    def __init__(self, url: URL, kwargs: dict[str, Any]) -> None:
        super().__init__(url, kwargs)
        if url.get_backend_name() == "postgresql":
            kwargs["connect_args"] = {**kwargs.get("connect_args", {}), "prepare_threshold": None}
            # Said with each BEGIN; the database's own default may be another.
            kwargs.setdefault("isolation_level", "READ COMMITTED")

    def update_url(self, url: URL) -> URL:
        return url

    def engine_created(self, engine: Engine) -> None:
        if engine.dialect.name == "postgresql":
            event.listen(engine, "connect", _prepare_postgres)
            event.listen(engine, "begin", _guard_transaction)
            event.listen(engine, "checkout", _check_it_is_open)
        elif sqlite_clock.NEEDED:
            event.listen(engine, "connect", _give_clock)


def _prepare_postgres(connection: psycopg.Connection[Any], record: Any) -> None:
    with connection.cursor() as cursor:
        found = cursor.execute("SELECT pg_backend_pid()").fetchone()
        assert found is not None
        # A pool in between tells a process number of its own.
        record.info[_POOLED] = found[0] != connection.info.backend_pid
        if not record.info[_POOLED]:
            cursor.execute(_SESSION)
    connection.commit()


def _check_it_is_open(connection: psycopg.Connection[Any], *_: Any) -> None:
    """Has the pool open another one in place of one that the server has closed.

    A server says nothing to a connection that nobody uses, except that it is closed. So this needs no question, as
    SQLAlchemy's `pool_pre_ping` asks one before each transaction.
    """
    waiting = select.poll()
    if not connection.closed:
        waiting.register(connection, select.POLLIN)
    if connection.closed or waiting.poll(0):
        raise InvalidatePoolError


def _guard_transaction(connection: Connection) -> None:
    if connection.info.get(_POOLED) and connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql(_TRANSACTION)


def _give_clock(connection: sqlite3.Connection, _record: Any) -> None:
    sqlite_clock.give_clock(connection)


plugins.register(PLUGIN, __name__, EveryConnection.__name__)
