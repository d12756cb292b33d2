"""A file whose tables were made for a newer SQLite than that of this process."""

from __future__ import annotations

import re
import sqlite3

import pytest

from dexbridge.sessions import AgentSessionClient, open_engine
from tests.sessions.conftest import Database, Opening, Talk, flow_of

DEFAULT = re.compile(r"unixepoch\('subsec'\)|strftime\('%s', ?'now'\)")


def changed(database: Database, milliseconds: str) -> int:
    """Gives the tables the defaults that DBOS writes on another Python; returns how many tables have one."""
    path = database.url.removeprefix("sqlite:///")
    with sqlite3.connect(path) as connection:
        made = connection.execute("select name, sql from sqlite_master where type = 'table'").fetchall()
        found = [(DEFAULT.sub(milliseconds, sql), name) for name, sql in made if DEFAULT.search(sql)]
        connection.execute("pragma writable_schema = on")
        connection.executemany("update sqlite_master set sql = ? where name = ?", found)
        version = connection.execute("pragma schema_version").fetchone()[0]
        connection.execute(f"pragma schema_version = {version + 1}")
    connection.close()
    return len(found)


@pytest.mark.parametrize("milliseconds", ["unixepoch('subsec')", "strftime('%s','now')"])
async def test_a_file_made_on_another_python_is_opened_and_what_waits_in_it_runs(
    database: Database, opening: Opening, milliseconds: str
) -> None:
    async with open_engine(database.url, [flow_of([])], run_steps=False):
        pass
    assert changed(database, milliseconds) >= 3
    async with open_engine(database.url, [flow_of([])], run_steps=False) as engine:
        client = AgentSessionClient(engine)
        await client.start_session("s-1")
        assert await Talk(client).say("hello")
    # As a start leaves it that failed in the middle: the tables are made, DBOS's own first row is not.
    database.write("delete from application_versions")
    async with opening() as talk:
        assert await talk.answer() == "you said hello"
        assert await talk.ask("and now?") == "you said and now?"
    for table, column in (("workflow_status", "created_at"), ("application_versions", "version_timestamp")):
        (kept,) = set(database.rows(f"select typeof({column}) from {table}"))
        assert kept == ("integer",), table
