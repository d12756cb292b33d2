"""The database connection: durable commits, one writer at a time on SQLite, private files."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dexbridge.sessions.engines.dbos.databases.every_connection import PLUGIN
from dexbridge.sessions.errors import DatabaseUnavailable, UnsupportedEngine

__all__ = [
    "AnswerLost",
    "open_database",
    "open_for_dbos",
    "reading",
    "reading_at_once",
    "sqlite_path",
    "url_for_dbos",
    "writing",
]


_READS_ONLY = "dexbridge_reads_only"
_NOT_DONE = "The database did not do its part, nothing was committed"
# SQLSTATE idle_in_transaction_session_timeout; the driver takes it for a fault of its own.
_STOOD_STILL = "25P03"
_LONGEST_IDLE_SECONDS = 5
_LONGEST_LOCK_SECONDS = 15


class AnswerLost(DatabaseUnavailable):
    """A COMMIT was sent and not answered. Whoever wrote reads back what became of it before anything is said."""


def sqlite_path(url: str) -> Path | None:
    """The file of a SQLite URL; `None` for another database."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return None
    if not parsed.database or parsed.database == ":memory:":
        raise UnsupportedEngine("A durable session needs a file: write the engine URL as sqlite:///path.")
    return Path(parsed.database)


def open_database(url: str) -> Engine:
    """Opens the database and, for SQLite, makes its folder (0700) and file (0600) when they are missing."""
    path = sqlite_path(url)
    if path is None:
        engine = create_engine(
            _with_driver(url), plugins=[PLUGIN], pool_size=10, max_overflow=10, pool_pre_ping=True, hide_parameters=True
        )
        event.listen(engine, "connect", _prepare_postgres)
        return engine
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives its journal and WAL files the mode of the database file.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    engine = create_engine(url, plugins=[PLUGIN], connect_args={"timeout": 30.0}, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def open_for_dbos(url: str) -> Engine:
    """The engine DBOS works with, on the database that `open_database` has opened."""
    if sqlite_path(url) is None:
        return create_engine(
            _with_driver(url), plugins=[PLUGIN], pool_size=20, max_overflow=0, pool_pre_ping=True, hide_parameters=True
        )
    # DBOS leaves it to the driver to begin transactions, and waits for the write lock at their first write.
    engine = create_engine(
        url, plugins=[PLUGIN], connect_args={"timeout": 30.0, "isolation_level": "IMMEDIATE"}, hide_parameters=True
    )
    event.listen(engine, "connect", _with_foreign_keys)
    return engine


def url_for_dbos(url: str) -> str:
    """The URL from which DBOS makes an engine itself, when its tables are made without a Worker."""
    return make_url(_with_driver(url)).update_query_pairs([("plugin", PLUGIN)]).render_as_string(hide_password=False)


@contextmanager
def writing(engine: Engine) -> Generator[Connection]:
    """A transaction that takes the write lock at once, so that what it reads is still true when it writes.

    Raises:
        AnswerLost: The connection was lost during the COMMIT: it may have been done.
        DatabaseUnavailable: Nothing was committed.
    """
    committing = False
    try:
        with _answering(), engine.begin() as connection:
            yield connection
            committing = True
    except DatabaseUnavailable as error:
        # SQLite runs in this process: a COMMIT that raises was not done.
        if committing and engine.dialect.name == "postgresql":
            raise AnswerLost("The database was lost during a COMMIT") from error
        raise


@contextmanager
def reading(engine: Engine) -> Generator[Connection]:
    """A connection for single reads; takes no lock."""
    with _answering(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection


@contextmanager
def reading_at_once(engine: Engine) -> Generator[Connection]:
    """A connection whose several reads see one moment; takes no lock."""
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {_READS_ONLY: True}
    with _answering(), engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def _answering() -> Generator[None]:
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseUnavailable(f"{_NOT_DONE}: no connection became free") from error
    except DBAPIError as error:
        cut = error.connection_invalidated or getattr(error.orig, "sqlstate", None) == _STOOD_STILL
        if not cut and not isinstance(error, OperationalError | InterfaceError):
            raise
        raise DatabaseUnavailable(f"{_NOT_DONE}: {error.orig}") from error


def _with_driver(url: str) -> str:
    parsed = make_url(url)
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed.render_as_string(hide_password=False)


def _prepare_postgres(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    # A Worker that is frozen or cut off in the middle of a transaction must not keep a session locked for the others.
    cursor.execute(f"SET idle_in_transaction_session_timeout = {_LONGEST_IDLE_SECONDS * 1000}")
    cursor.execute(f"SET lock_timeout = {_LONGEST_LOCK_SECONDS * 1000}")
    cursor.close()
    connection.commit()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver must not begin transactions of its own; `_begin_immediate` does.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # FULL: an attempt row is on the disk before the request it allows leaves.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _with_foreign_keys(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_immediate(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN" if options.get(_READS_ONLY) else "BEGIN IMMEDIATE")
