"""The database connection: durable commits, one writer at a time on SQLite, private files."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url

__all__ = ["open_database", "reading", "sqlite_path", "writing"]


def sqlite_path(url: str) -> Path | None:
    """The file of a SQLite URL; `None` for another database."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return None
    return Path(parsed.database or "")


def open_database(url: str) -> Engine:
    """Opens the database and, for SQLite, makes its folder (0700) and file (0600) when they are missing."""
    path = sqlite_path(url)
    if path is None:
        return create_engine(_with_driver(url), pool_size=10, max_overflow=10, pool_pre_ping=True)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives its journal and WAL files the mode of the database file.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    engine = create_engine(url, connect_args={"timeout": 30.0})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    return engine


@contextmanager
def writing(engine: Engine) -> Generator[Connection]:
    """A transaction that takes the write lock at once, so that what it reads is still true when it writes."""
    with engine.begin() as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Generator[Connection]:
    """A connection for single reads; takes no lock."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection


def _with_driver(url: str) -> str:
    parsed = make_url(url)
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed.render_as_string(hide_password=False)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver must not begin transactions of its own; `_begin_immediate` does.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # FULL: an attempt row is on the disk before the request it allows leaves.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
