"""The database connection: durable commits, one writer at a time on SQLite, errors as sentences."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dexbridge.sessions.engines.dbos.databases.every_connection import PLUGIN
from dexbridge.sessions.engines.dbos.databases.faults import fault_of
from dexbridge.sessions.engines.dbos.databases.outage import Outage
from dexbridge.sessions.engines.dbos.databases.postgres_url import pool_size, postgres_url
from dexbridge.sessions.engines.dbos.databases.sqlite_file import (
    FileGone,
    check_names,
    hold_to,
    make_file,
    sqlite_path,
    sqlite_url,
)
from dexbridge.sessions.errors import DatabaseUnavailable

__all__ = [
    "AnswerLost",
    "answering",
    "check_url",
    "open_database",
    "open_for_dbos",
    "outage_of",
    "reading",
    "reading_at_once",
    "sqlite_path",
    "url_for_dbos",
    "writing",
]


_READS_ONLY = "dexbridge_reads_only"
_OUTAGE = "dexbridge_outage"
_NOT_DONE = "The database did not do its part, nothing was committed"


class AnswerLost(DatabaseUnavailable):
    """A COMMIT was sent and not answered. Whoever wrote reads back what became of it before anything is said."""


def check_url(url: str) -> None:
    """Passes when the URL can be read. Raises `UnsupportedEngine`."""
    url_for_dbos(url)
    if sqlite_path(url) is None:
        pool_size(url)


def open_database(url: str) -> Engine:
    """Opens the database and, for SQLite, makes its folder (0700) and file (0600) when they are missing."""
    path = sqlite_path(url)
    options = {_OUTAGE: Outage()}
    if path is None:
        return create_engine(
            postgres_url(url),
            plugins=[PLUGIN],
            execution_options=options,
            pool_size=pool_size(url),
            max_overflow=0,
            hide_parameters=True,
        )
    make_file(path)
    engine = create_engine(sqlite_url(url, path), plugins=[PLUGIN], execution_options=options, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    hold_to(engine, path)
    try:
        with answering(engine):
            check_names(engine, path)
    except BaseException:
        engine.dispose()
        raise
    return engine


def open_for_dbos(url: str, ours: Engine) -> Engine:
    """The engine DBOS works with, on the database that `open_database` has opened: on Postgres the same pool."""
    path = sqlite_path(url)
    if path is None:
        return ours
    # DBOS leaves it to the driver to begin transactions, and waits for the write lock at their first write.
    engine = create_engine(
        ours.url, plugins=[PLUGIN], connect_args={"isolation_level": "IMMEDIATE"}, hide_parameters=True
    )
    event.listen(engine, "connect", _with_foreign_keys)
    hold_to(engine, path)
    return engine


def url_for_dbos(url: str) -> str:
    """The URL from which DBOS makes an engine itself, when its tables are made without a Worker."""
    path = sqlite_path(url)
    parsed = postgres_url(url) if path is None else sqlite_url(url, path)
    return parsed.update_query_pairs([("plugin", PLUGIN)]).render_as_string(hide_password=False)


def outage_of(engine: Engine) -> Outage:
    """Knows whether the database of an engine is away."""
    return cast("Outage", engine.get_execution_options()[_OUTAGE])


@contextmanager
def writing(engine: Engine) -> Generator[Connection]:
    """A transaction that takes the write lock at once, so that what it reads is still true when it writes.

    Raises:
        AnswerLost: The connection was lost during the COMMIT: it may have been done.
        DatabaseUnavailable: Nothing was committed.
    """
    committing = False
    try:
        with answering(engine), engine.begin() as connection:
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
    with answering(engine), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection


@contextmanager
def reading_at_once(engine: Engine) -> Generator[Connection]:
    """A connection whose several reads see one moment; takes no lock."""
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {_READS_ONLY: True}
    with answering(engine), engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def answering(engine: Engine) -> Generator[None]:
    """Says what the database's errors mean, to the caller and once to the log. Raises `DatabaseUnavailable`."""
    outage = outage_of(engine)
    try:
        yield
    except PoolTimeout:
        raise DatabaseUnavailable(f"{_NOT_DONE}: no connection became free") from None
    except DBAPIError as error:
        fault = fault_of(error)
        if fault is None:
            raise
        outage.met(fault)
        raise DatabaseUnavailable(f"{_NOT_DONE}: {fault.why}.") from None
    except FileGone as gone:
        outage.met(gone.fault)
        raise
    outage.worked()


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
