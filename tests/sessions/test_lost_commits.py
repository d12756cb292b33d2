"""The connection is lost during a COMMIT: what it did is read before anything is said or done."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from benchmarks.fault_proxy import FaultProxy, fault_proxy
from dexbridge.sessions import CommitUnclear, DatabaseUnavailable, EventKind
from dexbridge.toolsource import OutcomeKind
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Database, Opening
from tests.sessions.test_outage import away

DATABASES = ("postgres",)
CANCEL = 'call cancel_order {"order_id": "7"}'
STEPS = ["RunModel-1", "CallSingleAttemptTool-1", "ResumeTurn-1", "RunModel-2"]


@pytest.fixture
async def proxy(database: Database) -> AsyncIterator[FaultProxy]:
    async with fault_proxy(database.url) as proxy:
        yield proxy


@pytest.fixture
def through(proxy: FaultProxy, database: Database) -> Database:
    return Database(proxy.url, database.folder)


def next_commit(proxy: FaultProxy, of: bytes) -> None:
    """The next COMMIT of a transaction that writes there is lost, once."""

    def cuts(sql: bytes) -> bool:
        if of not in sql:
            return False
        proxy.cuts = lambda _sql: False
        return True

    proxy.cuts = cuts


@pytest.mark.parametrize("delivers", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize(
    "writing",
    [b"INSERT INTO dexbridge_attempts", b"UPDATE dexbridge_attempts", b"RunModel", b"CallSingleAttemptTool"],
    ids=["ledger row", "ledger end", "segment", "record"],
)
async def test_a_step_goes_on_as_if_nothing_had_been_lost(
    opening: Opening, proxy: FaultProxy, through: Database, writing: bytes, delivers: bool
) -> None:
    tool = FunctionTool()
    async with opening(tool, through=through) as talk:
        proxy.delivers = delivers
        next_commit(proxy, writing)
        assert await talk.ask(CANCEL) == "done with 7"
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.found_by) == (OutcomeKind.SUCCEEDED, "answer")
        assert (len(tool.dispatches), tool.questions) == (1, [])
        assert await talk.steps() == STEPS
    assert proxy.lost == 1


@pytest.mark.parametrize("delivers", [True, False], ids=["done", "not done"])
async def test_a_message_is_taken_once(opening: Opening, proxy: FaultProxy, through: Database, delivers: bool) -> None:
    async with opening(through=through) as talk:
        proxy.delivers = delivers
        next_commit(proxy, b"INSERT INTO dexbridge_message_keys")
        assert await talk.ask("hello") == "you said hello"
        assert (await talk.snapshot()).state.turn == 1
        next_commit(proxy, b"INSERT INTO dexbridge_sessions")
        assert await talk.client.start_session("s-2")
        assert not await talk.client.start_session("s-2")
    assert proxy.lost == 2


@pytest.mark.slow
async def test_a_message_nobody_knows_of_is_said_with_the_id_that_sends_it_once(
    opening: Opening, proxy: FaultProxy, through: Database, database: Database
) -> None:
    async with opening(through=through) as talk:
        async with AsyncExitStack() as outage:
            proxy.then = lambda: outage.enter_async_context(away(database))
            next_commit(proxy, b"INSERT INTO dexbridge_message_keys")
            with pytest.raises(CommitUnclear, match="not known whether the request was taken") as unclear:
                await talk.say("hello")
        message_id = unclear.value.message_id
        assert message_id is not None
        assert repr(message_id) in str(unclear.value)
        while True:
            try:
                assert await talk.say("hello", message_id=message_id)
                break
            except DatabaseUnavailable:
                await asyncio.sleep(0.1)
        await talk.event(EventKind.TURN_ANSWERED)
        assert (await talk.snapshot()).state.turn == 1


@pytest.mark.slow
async def test_commits_lost_at_random_cost_no_outcome(opening: Opening, proxy: FaultProxy, through: Database) -> None:
    tool = FunctionTool()
    chance = random.Random(7)
    async with opening(tool, through=through) as talk:
        for turn in range(1, 25):
            proxy.delivers = chance.random() < 0.7
            proxy.cuts = lambda sql: b"dexbridge_" in sql and b"FOR UPDATE" in sql and chance.random() < 0.15
            after = (await talk.snapshot()).last_event
            assert await talk.say(CANCEL)
            assert await talk.answer(after) == "done with 7"
            assert (await talk.snapshot()).state.turn == turn
        proxy.cuts = lambda _sql: False
        calls = (await talk.snapshot()).calls
        assert [(call.outcome, call.found_by) for call in calls] == [(OutcomeKind.SUCCEEDED, "answer")] * 24
        assert (len(tool.dispatches), tool.questions) == (24, [])
    assert proxy.lost > 15
