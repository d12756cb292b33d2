"""The file of a SQLite URL: one file whatever it is called, private, and the same from beginning to end."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from sqlalchemy import URL, Engine, event, make_url
from sqlalchemy.exc import ArgumentError

from dexbridge.sessions.engines.dbos.databases.faults import Fault
from dexbridge.sessions.errors import DatabaseUnavailable, UnsupportedEngine

__all__ = ["FileGone", "check_names", "hold_to", "make_file", "sqlite_path", "sqlite_url"]

_WRITE = "write the engine URL as sqlite:///path"
# What the driver takes of a URL, and what of a SQLite URI says no more than what is done anyway.
_OPTIONS = {"timeout", "check_same_thread", "cached_statements"}
_SAID_ANYWAY = {("uri", "true"), ("uri", "1"), ("mode", "rw"), ("mode", "rwc"), ("cache", "private")}


class FileGone(DatabaseUnavailable):
    """The file is not the one that was opened."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(f"Nothing was committed: {fault.why}.")


def sqlite_path(url: str) -> Path | None:
    """The file of a SQLite URL, by its real name; `None` for another database.

    Raises:
        UnsupportedEngine: The URL names no file.
    """
    if url.partition(":")[0].partition("+")[0] != "sqlite":
        return None
    try:
        name = make_url(url).database or ""
    except (ArgumentError, ValueError):
        raise UnsupportedEngine(f"The engine URL cannot be read: {_WRITE}.") from None
    if name.startswith("file:"):
        # SQLite's own form: file:path, file:///path or file://localhost/path.
        name = unquote(urlsplit(name).path)
    if name in ("", ":memory:") or make_url(url).query.get("mode") == "memory":
        raise UnsupportedEngine(f"A durable session needs a file: {_WRITE}.")
    return Path(os.path.realpath(name))


def sqlite_url(url: str, path: Path) -> URL:
    """The URL by which that file is opened, and never made: what was deleted must not come back empty.

    Raises:
        UnsupportedEngine: It asks for what would lose what is committed, or is not known.
    """
    query = dict(make_url(url).query)
    for option, value in query.items():
        if option not in _OPTIONS and (option, value) not in _SAID_ANYWAY:
            raise UnsupportedEngine(f"The engine URL has the option {option!r}, which is not taken: {_WRITE}.")
    query = {"timeout": "30", **{option: query[option] for option in query if option in _OPTIONS}}
    return URL.create("sqlite", database=f"file:{quote(str(path))}", query={**query, "mode": "rw", "uri": "true"})


def make_file(path: Path) -> None:
    """Makes the folder (0700) and the file (0600) when they are missing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives its journal and WAL files the mode of the database file.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def hold_to(engine: Engine, path: Path) -> None:
    """Lets nobody use the engine any more once the file is gone or another one is in its place.

    SQLite would go on with the file that has no name any more, and nobody would ever read what is written there.
    """

    made = _identity(path)

    def look(*_: Any) -> None:
        found = _identity(path)
        if found != made:
            what = "is gone" if found is None else "was replaced by another file"
            raise FileGone(
                Fault(
                    f"its file {path} {what} while this process had it open. Stop every process that uses it, put the "
                    "file back with its -wal file, and start them again"
                )
            )

    event.listen(engine, "do_connect", look)
    event.listen(engine, "checkout", look)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_names(engine: Engine, path: Path) -> None:
    """Refuses a file that was last used by another of its names (hard links).

    SQLite keeps what is not yet in the file beside the name it was opened by: by another one, that is lost.

    Raises:
        UnsupportedEngine: It has several names, and this may not be the one it was used by.
    """
    name = zlib.crc32(os.fsencode(path)) & 0x7FFF_FFFF
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        used_by = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        if used_by == name:
            return
        if path.stat().st_nlink > 1:
            raise UnsupportedEngine(
                f"The database file {path} has several names (hard links), and SQLite would lose what was written "
                "by another one: remove the others, or open it by the name it was used by."
            )
        connection.exec_driver_sql(f"PRAGMA user_version = {name}")
