"""prune: everything of an old session goes, but its ID."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from dexbridge.sessions import InvalidRequest, UnknownSession
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Database, Opening, Talk

BOTH_DATABASES = True
CANCEL = 'call cancel_order {"order_id": "7"}'
TABLES = ("messages", "transcript", "events", "calls", "attempts", "message_keys")


async def test_what_is_old_goes_and_its_id_stays_taken(opening: Opening, database: Database) -> None:
    async with opening(FunctionTool(rule=True)) as talk:
        waiting, ended = Talk(talk.client, "s-2"), Talk(talk.client, "s-3")
        for other in (waiting, ended):
            await talk.client.start_session(other.session_id)
        await talk.ask("hello")
        await ended.say("secret words", message_id="m")
        await ended.answer()
        await talk.client.end_session("s-3")
        await waiting.say(CANCEL)
        interrupt = await waiting.interrupt()
        assert await talk.client.prune(timedelta(hours=1)) == []
        with pytest.raises(InvalidRequest, match="older_than"):
            await talk.client.prune(timedelta(seconds=-1))
        await asyncio.sleep(0.05)
        # The queue's copies of the legs may still be on their way to find that there is nothing to do.
        assert sorted(await talk.client.prune(timedelta(milliseconds=1))) == ["s-1", "s-3"]
        for gone in (talk, ended):
            with pytest.raises(UnknownSession):
                await gone.snapshot()
            with pytest.raises(UnknownSession):
                await gone.say("hello")
            with pytest.raises(UnknownSession):
                await gone.events()
            assert not await talk.client.start_session(gone.session_id)
        for table in TABLES:
            assert {row[0] for row in database.rows(f"select session_id from dexbridge_{table}")} <= {"s-2"}, table
        assert database.rows("select session_id, state from dexbridge_sessions where status = 'pruned' order by 1") == [
            ("s-1", ""),
            ("s-3", ""),
        ]
        assert not [name for name in database.workflows() if ":s-1:" in name or ":s-3:" in name]
        assert [s.session_id for s in await talk.client.list_sessions()] == ["s-2"]
        assert await waiting.decide(interrupt, approved=True)
        assert await waiting.answer() == "done with 7"


async def test_a_prune_that_was_interrupted_is_finished_by_the_next(opening: Opening, database: Database) -> None:
    async with opening() as talk:
        await talk.ask("hello")
        await talk.client.prune(timedelta(0))
        # As when the process ended before the engine's own rows were deleted.
        database.write("update dexbridge_sessions set state = '1' where session_id = 's-1'")
        assert await talk.client.prune(timedelta(hours=1)) == ["s-1"]
        assert await talk.client.prune(timedelta(hours=1)) == []
