"""Which version of our tables a database has, and how an older one is brought up to date.

No migration tool: there are nine tables, what grows is JSON that names its members, and a change of a table is a few
statements under one lock. Alembic would bring a folder of scripts and a second table of versions for the same.

Source: issue "Sessions that cannot be broken", "Rolling upgrade": a newer version opens an older database. While
Workers of both versions run, a newer one may only add what the older ones do not look at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, delete, insert, inspect, select, text
from sqlalchemy.schema import CreateColumn

from dexbridge.sessions.engines.dbos.tables.schema import METADATA, schema, sessions
from dexbridge.sessions.errors import NewerDatabase

__all__ = ["SCHEMA_NUMBER", "prepare_tables"]

SCHEMA_NUMBER = 1
"""The version this code reads and writes."""

_STEPS: Mapping[int, Callable[[Connection], None]] = {}
"""By the number they lead to: what turns the tables of the version before into that one."""

_LOCK = 0x6465_7862_7264_6765


def prepare_tables(connection: Connection) -> None:
    """Creates the tables, or brings them up to date; several processes may start at once.

    Raises:
        NewerDatabase: A newer version has changed the tables.
    """
    if connection.dialect.name == "postgresql":
        # SQLite's transaction is the only writer already.
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    METADATA.create_all(connection)
    _add_what_is_new(connection)
    found = connection.execute(select(schema.c.number)).scalar_one_or_none()
    if found is not None and found > SCHEMA_NUMBER:
        raise NewerDatabase(
            f"The database has version {found} of dexbridge's tables, this process knows version {SCHEMA_NUMBER}: "
            "upgrade dexbridge here. Nothing was changed."
        )
    if found == SCHEMA_NUMBER:
        return
    # A database without a number is new, or as old as version 1.
    for number in range((found or 1) + 1, SCHEMA_NUMBER + 1):
        _STEPS[number](connection)
    connection.execute(delete(schema))
    connection.execute(insert(schema).values(number=SCHEMA_NUMBER))


def _add_what_is_new(connection: Connection) -> None:
    """Adds a column that older Workers do not look at; it has a default, which the rows they insert get."""
    there = {column["name"] for column in inspect(connection).get_columns(sessions.name)}
    for column in sessions.columns:
        if column.name not in there:
            written = CreateColumn(column).compile(dialect=connection.dialect)
            connection.execute(text(f"alter table {sessions.name} add column {written}"))
