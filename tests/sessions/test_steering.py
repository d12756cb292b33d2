"""steer: taken at the next safe boundary, never in the middle of a Step."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from dexbridge.sessions import EventKind
from dexbridge.toolsource import AttemptResult, Dispatch, OutcomeKind
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import Database, Opening
from tests.sessions.worker_processes import visitor

BOTH_DATABASES = True
CANCEL = 'call cancel_order {"order_id": "7"}'


async def test_without_a_running_turn_it_begins_one(opening: Opening) -> None:
    async with opening() as talk:
        assert await talk.steer("hello")
        assert await talk.answer() == "you said hello"


async def test_a_segment_ends_first_and_the_turn_goes_on_with_the_message(opening: Opening) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait(_segment: Segment) -> None:
        begun.set()
        await go_on.wait()

    runner = ScriptedRunner(after=wait)
    async with opening(runner=runner) as talk:
        await talk.say("one")
        await begun.wait()
        assert await talk.steer("two")
        assert await talk.say("three")
        go_on.set()
        first = await talk.event(EventKind.TURN_ANSWERED)
        assert first.data == {"turn": 1, "text": "you said two"}
        second = await talk.event(EventKind.TURN_ANSWERED, after=first.sequence)
        assert second.data == {"turn": 2, "text": "you said three"}
        said = [(m.role.value, m.text, m.turn) for m in (await talk.snapshot()).messages]
        assert said == [
            ("user", "one", 1),
            ("assistant", "you said one", 1),
            ("user", "two", 1),
            ("assistant", "you said two", 1),
            ("user", "three", 2),
            ("assistant", "you said three", 2),
        ]


async def test_a_call_that_waits_is_taken_back(opening: Opening) -> None:
    tool, runner = FunctionTool(rule=True), ScriptedRunner()
    async with opening(tool, runner=runner) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
        assert await talk.steer("rather not")
        assert not await talk.decide(interrupt, approved=True)
        assert await talk.answer() == "you said rather not"
        assert tool.dispatches == []
        given = runner.segments[-1]
        assert given.prompts == ("rather not",)
        assert given.result is not None
        assert "new message" in given.result.text
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.decision, call.decided_by) == (OutcomeKind.CANCELLED, None, None)


async def test_an_approval_that_was_not_used_yet_is_stale_too(opening: Opening, database: Database) -> None:
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
    async with visitor(database) as talk:
        assert await talk.decide(interrupt, approved=True)
        assert await talk.steer("rather not")
    async with opening(tool) as talk:
        assert await talk.answer() == "you said rather not"
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.attempts) == (OutcomeKind.CANCELLED, 0)
        # It was approved, and then not made: both are true.
        assert (call.decision, call.decided_by) == ("approved", "ann")
        assert tool.dispatches == []


async def test_a_call_under_way_is_not_touched(opening: Opening) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def function(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        begun.set()
        await may_end.wait()
        return succeeded("done")

    runner = ScriptedRunner()
    async with opening(FunctionTool(function=function), runner=runner) as talk:
        await talk.say(CANCEL)
        await begun.wait()
        assert await talk.steer("quick")
        may_end.set()
        assert "you said quick" in await talk.answer()
        assert runner.segments[-1].result is not None
        assert (runner.segments[-1].result.text, runner.segments[-1].prompts) == ("done", ("quick",))
