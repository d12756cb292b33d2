"""PostgreSQL set up in ways that are not ours to choose."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import make_url

from dexbridge.sessions import AgentSessionClient, DatabaseUnavailable, UnsupportedEngine, open_engine
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Database, Talk, flow_of
from tests.sessions.worker_processes import worker

CANCEL = 'call cancel_order {"order_id": "7"}'


def named(database: Database) -> str:
    name = make_url(database.url).database
    assert name is not None
    return name


@pytest.fixture
def plain_role(empty_postgres: Database) -> Iterator[tuple[Database, str]]:
    """An empty database as a role sees it that is no superuser and does not own it; and the role's name."""
    role = f"dexbridge_test_{uuid.uuid4().hex}"
    empty_postgres.write(f"create role {role} login")
    try:
        url = make_url(empty_postgres.url).set(username=role).render_as_string(hide_password=False)
        yield replace(empty_postgres, url=url), role
    finally:
        empty_postgres.write(f"drop owned by {role} cascade")
        empty_postgres.write(f"drop role {role}")


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_database_whose_transactions_are_serializable_serves_every_session(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.write(f"alter database {named(database)} set default_transaction_isolation = 'serializable'")
    tool = FunctionTool(rule=False)
    async with open_engine(database.url, [flow_of([tool])]) as engine:
        logging.getLogger("dbos").addHandler(caplog.handler)
        client = AgentSessionClient(engine)

        async def converse(session_id: str) -> list[str]:
            await client.start_session(session_id)
            talk = Talk(client, session_id)
            return [await talk.ask(CANCEL) for _ in range(3)]

        answers = await asyncio.gather(*(converse(f"s-{number}") for number in range(12)))
        logging.getLogger("dbos").removeHandler(caplog.handler)
    assert answers == [["done with 7"] * 3] * 12
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_two_workers_and_a_client_serve_thirty_sessions_with_fourteen_connections(
    plain_role: tuple[Database, str], empty_postgres: Database
) -> None:
    database, role = plain_role
    empty_postgres.write(f"alter role {role} connection limit 14")
    empty_postgres.write(f"grant create on database {named(database)} to {role}")
    empty_postgres.write(f"grant all on schema public to {role}")
    async with (
        worker(database, "free", "first", forget=False),
        worker(database, "free", "second", forget=False),
        open_engine(database.url, [flow_of([])], run_steps=False) as engine,
    ):
        client = AgentSessionClient(engine)

        async def converse(session_id: str) -> str:
            await client.start_session(session_id)
            return await Talk(client, session_id).ask(f'call cancel_order {{"order_id": "{session_id}"}}')

        answers = await asyncio.gather(*(converse(f"s-{number}") for number in range(30)))
    assert answers == [f"done with s-{number}" for number in range(30)]


async def refused(url: str, *, run_steps: bool = True) -> str:
    """What is said when the database is opened."""
    with pytest.raises((DatabaseUnavailable, UnsupportedEngine)) as raised:
        async with open_engine(url, [flow_of([])], run_steps=run_steps):
            pass
    # Nor is what the libraries below say printed with it.
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert "sqlalche.me" not in str(raised.value)
    assert "SQL:" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("run_steps", [True, False])
async def test_a_role_that_may_not_make_the_tables_is_told_what_to_grant(
    plain_role: tuple[Database, str], run_steps: bool
) -> None:
    assert "grant it" in await refused(plain_role[0].url, run_steps=run_steps)


async def test_a_role_that_may_only_use_the_tables_is_enough_once_they_are_made(
    plain_role: tuple[Database, str], empty_postgres: Database
) -> None:
    database, role = plain_role
    async with open_engine(empty_postgres.url, [flow_of([])]):
        pass
    empty_postgres.write(f"grant all on all tables in schema public to {role}")
    empty_postgres.write(f"grant usage on schema dbos to {role}")
    empty_postgres.write(f"grant all on all tables in schema dbos to {role}")
    async with open_engine(database.url, [flow_of([])]) as engine:
        talk = Talk(AgentSessionClient(engine))
        await talk.client.start_session("s-1")
        assert await talk.ask("hello") == "you said hello"


@pytest.mark.parametrize("run_steps", [True, False])
async def test_a_statement_timeout_that_is_too_short_is_named(empty_postgres: Database, run_steps: bool) -> None:
    empty_postgres.write(f"alter database {named(empty_postgres)} set statement_timeout = '1ms'")
    assert "raise that for this role" in await refused(empty_postgres.url, run_steps=run_steps)


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_database_that_takes_no_writes_can_be_read_and_is_said_to(database: Database) -> None:
    async with open_engine(database.url, [flow_of([])]) as engine:
        await AgentSessionClient(engine).start_session("s-1")
    database.write(f"alter database {named(database)} set default_transaction_read_only = on")
    assert "Give the URL of the primary" in await refused(database.url)
    async with open_engine(database.url, [flow_of([])], run_steps=False) as engine:
        talk = Talk(AgentSessionClient(engine))
        assert (await talk.snapshot()).last_event > 0
        with pytest.raises(DatabaseUnavailable, match="Give the URL of the primary"):
            await talk.say("hello")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://{user}@{host}:{port}x/{name}", "The port '"),
        ("postgresql://{user}@{host}:{port}00/{name}", "from 1 to 65535"),
        ("postgresql://{user}@{host}:{port},{host}:x/{name}", "The port 'x'"),
        ("postgresql://{user}@{host}:{port}", "names no database"),
        ("postgresql://{user}@{host}:{port}/{name}?invented=1", "invented"),
        ("postgresql://{user}@{host}:{port}/{name}?pool_size=2", "from 3 to 100"),
        ("postgresql://{user}@{host}:{port}/{name}?pool_size=many", "'many'"),
        ("postgresql://{user}@{host}:{port}/missing_{name}", "does not exist"),
    ],
)
@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_what_is_wrong_in_a_url_is_said(database: Database, url: str, told: str) -> None:
    at = make_url(database.url)
    assert told in await refused(url.format(user=at.username, host=at.host, port=at.port, name=at.database))


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_several_hosts_are_tried_in_their_order(database: Database) -> None:
    url = make_url(database.url)
    several = (
        f"postgresql://{url.username}@127.0.0.1:1,{url.host}:{url.port}/{url.database}?target_session_attrs=read-write"
    )
    for run_steps in (False, True):
        async with open_engine(several, [flow_of([])], run_steps=run_steps) as engine:
            talk = Talk(AgentSessionClient(engine))
            await talk.client.start_session("s-1")
            assert await (talk.ask("hello") if run_steps else talk.say("hello")) in (True, "you said hello")
