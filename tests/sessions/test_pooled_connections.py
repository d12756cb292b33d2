"""Sessions through PgBouncer in transaction mode: each transaction may be on another connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from sqlalchemy import NullPool, create_engine, text

from dexbridge.sessions import AgentSessionClient, DatabaseUnavailable, open_engine
from dexbridge.sessions.engines.dbos.databases.database import open_database, writing
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Database, Talk, flow_of
from tests.sessions.pgbouncer import pooled

CANCEL = 'call cancel_order {"order_id": "7"}'


@pytest.fixture
def database(empty_postgres: Database) -> Iterator[Database]:
    """An empty database, reached through PgBouncer."""
    with pooled(empty_postgres.url, empty_postgres.folder) as url:
        yield replace(empty_postgres, url=url)


@pytest.mark.slow
async def test_fifty_sessions_are_served_from_an_empty_database_on(database: Database) -> None:
    async with open_engine(database.url, [flow_of([])], run_steps=False) as engine:
        client = AgentSessionClient(engine)
        await client.start_session("early")
        assert await Talk(client, "early").say("hello")
    tool = FunctionTool(rule=False)
    async with open_engine(database.url, [flow_of([tool])]) as engine:
        client = AgentSessionClient(engine)
        assert await Talk(client, "early").answer() == "you said hello"

        async def converse(session_id: str) -> tuple[str, str]:
            await client.start_session(session_id)
            talk = Talk(client, session_id)
            return await talk.ask("hello"), await talk.ask(CANCEL)

        answers = await asyncio.gather(*(converse(f"s-{number}") for number in range(50)))
    assert set(answers) == {("you said hello", "done with 7")}
    assert len(tool.dispatches) == 50


@pytest.mark.slow
async def test_a_transaction_that_stands_still_is_ended_there_too(database: Database) -> None:
    async with open_engine(database.url, [flow_of([])]) as engine:
        talk = Talk(AgentSessionClient(engine))
        await talk.client.start_session("s-1")
        frozen = open_database(database.url)
        with pytest.raises(DatabaseUnavailable, match="nothing"), writing(frozen) as connection:  # noqa: PT012
            connection.execute(text("select state from dexbridge_sessions where session_id = 's-1' for update"))
            assert await talk.ask("hello") == "you said hello"
            connection.execute(text("update dexbridge_sessions set version = 0"))
        frozen.dispose()


async def test_nothing_is_left_set_for_others_who_use_the_same_connections(database: Database) -> None:
    others = create_engine(database.url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
    async with open_engine(database.url, [flow_of([])]) as engine:
        talk = Talk(AgentSessionClient(engine))
        await talk.client.start_session("s-1")
        assert await talk.ask("hello") == "you said hello"
    with ExitStack() as at_once:
        seen = [
            at_once.enter_context(others.connect()).execute(text("show lock_timeout")).scalar_one() for _ in range(15)
        ]
    assert set(seen) == {"0"}
