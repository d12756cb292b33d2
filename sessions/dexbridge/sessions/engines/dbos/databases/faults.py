"""What a database's errors mean, in sentences for the person who runs it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

import psycopg
from sqlalchemy.exc import DBAPIError

__all__ = ["Fault", "fault_of"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the database did not do its part.

    Attributes:
        why: What happened, and what mends it; no full stop at its end.
        lasts: Whether it is the state of the database, rather than of this one transaction.
    """

    why: str
    lasts: bool = True


def fault_of(error: BaseException) -> Fault | None:
    """The fault behind an error of SQLAlchemy or of a driver; `None` when it is not the database's."""
    driver = error.orig if isinstance(error, DBAPIError) else error
    text = " ".join(str(driver).split()).rstrip(".")
    state: str = getattr(driver, "sqlstate", None) or ""
    name = getattr(driver, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
    known = _POSTGRES.get(state) or _SQLITE.get(name)
    if known is not None:
        return replace(known, why=f"{known.why} ({text})")
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return Fault(f"the connection to it was lost ({text})")
    if isinstance(error, DBAPIError) and error.statement is None and isinstance(driver, psycopg.ProgrammingError):
        return Fault(f"the engine URL is not understood ({text})")
    return Fault(text) if isinstance(driver, _DRIVERS) else None


_DRIVERS = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    sqlite3.OperationalError,
    sqlite3.InterfaceError,
)
_POSTGRES = {
    # The driver takes it for a fault of its own.
    "25P03": Fault("a transaction stood still for too long, and was ended", lasts=False),
    "25006": Fault(
        "it takes no writes: it is a replica or set to read only. Give the URL of the primary; with several hosts add "
        "?target_session_attrs=read-write"
    ),
    "40001": Fault("another transaction came first", lasts=False),
    "40P01": Fault("two transactions waited for each other", lasts=False),
    "42501": Fault(
        "the database role may not do this. To make the tables, it needs CREATE on the database and on its schema: "
        "grant it, or let a role that has it open the engine once and grant this one the tables"
    ),
    "53100": Fault("its disk is full"),
    "53300": Fault("it has no connection left: raise its limit, or lower pool_size in the engine URLs"),
    "55P03": Fault("a row stayed locked for too long", lasts=False),
    "57014": Fault(
        "it ended a statement after its statement_timeout: raise that for this role, to 30 s or more, or unset it"
    ),
}
_SQLITE = {
    "BUSY": Fault("another process kept the file locked for too long", lasts=False),
    "CANTOPEN": Fault("the file cannot be opened: look whether it and its folder are there and may be written"),
    "CORRUPT": Fault("the file is damaged: stop every process that uses it and take a backup, or what .recover saves"),
    "FULL": Fault("the disk is full"),
    "IOERR": Fault("the disk does not read or write"),
    "NOTADB": Fault("the file is no SQLite database, or is damaged: name another, or take a backup"),
    "READONLY": Fault("the file or its folder may not be written"),
}
