"""The database goes away for a moment while sessions run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, make_url, text

from dexbridge.sessions import DatabaseUnavailable, EventKind
from dexbridge.sessions.engines.dbos.databases.database import open_database, writing
from dexbridge.toolsource import AttemptResult, Dispatch, OutcomeKind
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import Database, Opening, until
from tests.sessions.logged import logged

DATABASES = ("postgres",)
CANCEL = 'call cancel_order {"order_id": "7"}'


@asynccontextmanager
async def away(database: Database) -> AsyncGenerator[None]:
    """The server refuses this database and has cut every connection to it."""
    url = make_url(database.url)
    admin = create_engine(
        url.set(drivername="postgresql+psycopg", database="postgres"), isolation_level="AUTOCOMMIT", poolclass=NullPool
    )

    def execute(*statements: str) -> None:
        with admin.connect() as connection:
            for statement in statements:
                connection.execute(text(statement))

    name = url.database
    cut = f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
    await asyncio.to_thread(execute, f"alter database {name} allow_connections false", cut)
    try:
        yield
    finally:
        await asyncio.to_thread(execute, f"alter database {name} allow_connections true")


async def test_a_worker_that_stands_still_in_a_transaction_does_not_keep_a_session_locked(
    opening: Opening, database: Database
) -> None:
    async with opening() as talk:
        frozen = open_database(database.url)
        with pytest.raises(DatabaseUnavailable, match="nothing"), writing(frozen) as connection:  # noqa: PT012
            connection.execute(text("select state from dexbridge_sessions where session_id = 's-1' for update"))
            # As long as this connection lives and stays idle, only the server can end its transaction.
            assert await talk.ask("hello") == "you said hello"
            connection.execute(text("update dexbridge_sessions set version = 0"))
        frozen.dispose()


async def test_a_database_that_is_away_for_a_moment_cancels_nothing_and_loses_no_answer(
    opening: Opening, database: Database
) -> None:
    in_segment, in_call = asyncio.Event(), asyncio.Event()
    end_segment, end_call = asyncio.Event(), asyncio.Event()

    async def before(segment: Segment) -> None:
        if segment.result is None and segment.prompts == (CANCEL,):
            in_segment.set()
            await end_segment.wait()

    async def function(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        in_call.set()
        await end_call.wait()
        return succeeded("done")

    tool, runner = FunctionTool(function=function), ScriptedRunner(before=before)
    async with opening(tool, runner=runner) as talk:
        await talk.say(CANCEL)
        await in_segment.wait()
        async with away(database):
            with pytest.raises(DatabaseUnavailable, match="nothing was committed"):
                await talk.say("more", message_id="m-1")
            # Longer than the time between two looks for a cancelled turn.
            await asyncio.sleep(1.2)
            end_segment.set()
            await asyncio.sleep(0.3)
        await in_call.wait()
        async with away(database):
            end_call.set()
            await asyncio.sleep(1.2)
        assert await talk.answer() == "done"
        assert await talk.say("more", message_id="m-1")
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.attempts, call.found_by) == (OutcomeKind.SUCCEEDED, 1, "answer")
        assert tool.questions == []
        assert await talk.steps() == ["RunModel-1", "CallSingleAttemptTool-1", "ResumeTurn-1", "RunModel-2"]
        assert [segment.prompts for segment in runner.segments[:2]] == [(CANCEL,), ()]
        await talk.event(EventKind.TURN_ANSWERED, after=(await talk.event(EventKind.TURN_ANSWERED)).sequence)


@pytest.mark.slow
async def test_an_answer_outlives_any_outage_in_the_worker_that_got_it(opening: Opening, database: Database) -> None:
    in_call, end_call = asyncio.Event(), asyncio.Event()

    async def function(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        in_call.set()
        await end_call.wait()
        return succeeded("done")

    tool = FunctionTool(function=function)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        await in_call.wait()
        async with away(database):
            end_call.set()
            await asyncio.sleep(14)
        back = time.monotonic()
        assert await talk.answer() == "done"
        # The longest pause between two looks is 3 s; the rest is for a busy machine.
        assert time.monotonic() - back < 10
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.attempts, call.found_by) == (OutcomeKind.SUCCEEDED, 1, "answer")
        assert (len(tool.dispatches), tool.questions) == (1, [])
        assert await talk.steps() == ["RunModel-1", "CallSingleAttemptTool-1", "ResumeTurn-1", "RunModel-2"]


@pytest.mark.slow
async def test_an_outage_is_one_line_in_the_log_and_one_when_it_is_over(opening: Opening, database: Database) -> None:
    with logged() as said:
        async with opening() as talk:
            assert await talk.ask("hello") == "you said hello"
            following = asyncio.create_task(talk.event(EventKind.SESSION_ENDED))
            async with away(database):
                with pytest.raises(DatabaseUnavailable):
                    await talk.say("more")
                await asyncio.sleep(8)
                assert len(said) == 1
            await until(lambda: len(said) > 1, seconds=30)
            assert await talk.ask("and now?") == "you said and now?"
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    assert said[0].startswith("The database fails: ")
    assert "connection" in said[0]
    assert said[1].startswith("The database works again, after ")
    assert len(said) == 2
