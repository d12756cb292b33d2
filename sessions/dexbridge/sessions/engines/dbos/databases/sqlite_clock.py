"""The time in milliseconds, for a SQLite that does not know it.

DBOS writes `unixepoch('subsec')` into its queries and into the defaults of its tables. SQLite has it since 3.42; in an
older one it is NULL or no function at all, so nothing would start, and nothing that is enqueued would ever run. Whether
a file has such defaults depends on the Python that made it, so each connection of an older SQLite gets the function.
"""

from __future__ import annotations

import sqlite3
import time

__all__ = ["NEEDED", "give_clock"]

NEEDED = sqlite3.sqlite_version_info < (3, 42)
"""Whether the SQLite of this process lacks the function."""


def give_clock(connection: sqlite3.Connection) -> None:
    """Defines `unixepoch('subsec')` on a connection."""
    # One moment for a whole statement, as SQLite's own; that of no argument stays SQLite's.
    connection.create_function("unixepoch", 1, _unixepoch, deterministic=True)
    # Else some builds take no function of ours in the default of a column.
    connection.execute("PRAGMA trusted_schema=ON")


def _unixepoch(modifier: str) -> float:
    if modifier not in ("subsec", "subsecond"):
        raise ValueError(f"unixepoch({modifier!r}) is not known to this SQLite")
    return round(time.time(), 3)
