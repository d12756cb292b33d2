"""cancel_turn and end_session: what stops, what ends first, what the record says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from dexbridge.sessions import EventKind, LeftOut, SessionStatus
from dexbridge.toolsource import AttemptResult, Dispatch, NotDone, OutcomeKind, ToolEffect
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import Database, Opening
from tests.sessions.worker_processes import visitor

BOTH_DATABASES = True
CANCEL = 'call cancel_order {"order_id": "7"}'


async def test_a_running_segment_is_stopped_and_leaves_nothing(opening: Opening) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(_segment: Segment) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    runner = ScriptedRunner(before=hang)
    async with opening(runner=runner) as talk:
        await talk.say("do it")
        await begun.wait()
        assert await talk.cancel()
        assert not await talk.cancel()
        assert await talk.answer() == "turn_cancelled"
        assert ended.is_set()
        snapshot = await talk.snapshot()
        assert (snapshot.state.status, snapshot.state.transcript_rows) == (SessionStatus.IDLE, 0)
        assert not await talk.cancel()
        runner.before = ScriptedRunner().before
        # The model is not given what it was stopped at.
        assert await talk.ask("hello") == "you said hello"


async def test_a_call_that_waits_is_never_made_and_has_one_result(opening: Opening) -> None:
    tool, runner = FunctionTool(rule=True), ScriptedRunner()
    async with opening(tool, runner=runner) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
        assert await talk.cancel()
        assert await talk.answer() == "turn_cancelled"
        assert not await talk.decide(interrupt, approved=True)
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.attempts, call.call_id) == (OutcomeKind.CANCELLED, 0, None)
        assert await talk.ask("hello") == "you said hello"
        given = runner.segments[-1]
        assert given.result is not None
        assert (given.result.tool_use_id, given.prompts) == (interrupt.tool_use_id, ("hello",))
        assert "cancelled the turn" in given.result.text
        assert tool.dispatches == []


async def test_a_dispatched_call_ends_and_is_recorded(opening: Opening) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def function(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        begun.set()
        await may_end.wait()
        return succeeded("done")

    runner = ScriptedRunner()
    async with opening(FunctionTool(function=function), runner=runner) as talk:
        await talk.say(CANCEL)
        await begun.wait()
        assert await talk.cancel()
        may_end.set()
        assert await talk.answer() == "turn_cancelled"
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.text) == (OutcomeKind.SUCCEEDED, "done")
        assert await talk.steps() == ["RunModel-1", "CallSingleAttemptTool-1", "ResumeTurn-1"]
        assert await talk.ask("hello") == "you said hello"
        assert runner.segments[-1].result is not None
        assert runner.segments[-1].result.text == "done"


async def test_no_further_attempt_is_made(opening: Opening) -> None:
    for effect in (ToolEffect.NON_IDEMPOTENT_WRITE, ToolEffect.READ):
        begun = asyncio.Event()

        async def busy(_dispatch: Dispatch, _arguments: Mapping[str, Any], begun: asyncio.Event = begun) -> NotDone:
            begun.set()
            return NotDone("busy", timedelta(seconds=30))

        tool = FunctionTool(effect=effect, function=busy)
        async with opening(tool) as talk:
            after = (await talk.snapshot()).last_event
            await talk.say(CANCEL)
            await begun.wait()
            assert await talk.cancel()
            assert await talk.answer(after) == "turn_cancelled"
            call = (await talk.snapshot()).calls[-1]
            assert (call.outcome, call.attempts) == (OutcomeKind.FAILED, 1)
            assert "cancelled" in call.text
            assert len(tool.dispatches) == 1


async def test_a_cancel_before_the_row_of_the_ledger_keeps_the_call_from_leaving(
    opening: Opening, database: Database
) -> None:
    class Cancelling(FunctionTool):
        """Looked at for the last time before its call, while another process cancels the turn."""

        looks = 0

        def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
            self.looks += 1
            if self.looks == 2:
                database.change_state("s-1", lambda state: state.update(cancelling=True))
            return super().validate(arguments)

    for effect in (ToolEffect.NON_IDEMPOTENT_WRITE, ToolEffect.IDEMPOTENT_WRITE):
        tool = Cancelling(effect=effect)
        async with opening(tool) as talk:
            after = (await talk.snapshot()).last_event
            await talk.say(CANCEL)
            assert await talk.answer(after) == "turn_cancelled"
            call = (await talk.snapshot()).calls[-1]
            assert (call.outcome, call.attempts, call.call_id) == (OutcomeKind.CANCELLED, 0, None)
            assert tool.dispatches == []
    assert database.rows("select * from dexbridge_attempts") == []


async def test_a_call_that_was_approved_and_then_cancelled_is_not_made(opening: Opening, database: Database) -> None:
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
    async with visitor(database) as talk:
        assert await talk.decide(interrupt, approved=True)
        assert await talk.cancel()
    async with opening(tool) as talk:
        assert await talk.answer() == "turn_cancelled"
        assert [c.outcome for c in (await talk.snapshot()).calls] == [OutcomeKind.CANCELLED]
        assert tool.dispatches == []


async def test_messages_that_wait_follow_a_cancelled_turn_and_steering_goes_with_it(opening: Opening) -> None:
    begun, held = asyncio.Event(), asyncio.Event()

    async def wait(_segment: Segment) -> None:
        begun.set()
        try:
            await held.wait()
        except asyncio.CancelledError:
            # A framework that is slow to stop: the cancelled turn is not over before everything has been said.
            await held.wait()
            raise

    async with opening(runner=ScriptedRunner(before=wait)) as talk:
        await talk.say("one")
        await begun.wait()
        assert await talk.say("two")
        assert await talk.steer("rather like this")
        assert await talk.cancel()
        assert await talk.steer("and now")
        held.set()
        cancelled = await talk.event(EventKind.TURN_CANCELLED)
        first = await talk.event(EventKind.TURN_ANSWERED, after=cancelled.sequence)
        second = await talk.event(EventKind.TURN_ANSWERED, after=first.sequence)
        assert (first.data["text"], second.data["text"]) == ("you said and now", "you said two")


async def test_a_session_that_ends_while_it_waits_cannot_be_used_again(opening: Opening) -> None:
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
        assert await talk.say("later")
        assert await talk.client.end_session("s-1")
        snapshot = await talk.snapshot()
        assert snapshot.state.status is SessionStatus.ENDED
        assert [c.outcome for c in snapshot.calls] == [OutcomeKind.CANCELLED]
        refused = [
            await talk.say("x"),
            await talk.steer("x"),
            await talk.cancel(),
            await talk.decide(interrupt, approved=True),
            await talk.client.end_session("s-1"),
            await talk.client.start_session("s-1"),
        ]
        assert refused == [False] * 6
        assert tool.dispatches == []
        assert (await talk.events())[-1].data == {"reason": "it was ended"}


async def test_a_session_that_ends_while_it_runs_stops_its_turn_first(opening: Opening) -> None:
    begun = asyncio.Event()

    async def hang(_segment: Segment) -> None:
        begun.set()
        await asyncio.sleep(60)

    async with opening(runner=ScriptedRunner(before=hang)) as talk:
        await talk.say("do it")
        await begun.wait()
        assert await talk.client.end_session("s-1")
        assert not await talk.say("more")
        await talk.event(EventKind.SESSION_ENDED)
        kinds = [e.kind for e in await talk.events()]
        assert kinds[-2:] == [EventKind.TURN_CANCELLED, EventKind.SESSION_ENDED]
        await talk.client.start_session("s-2")
        assert await talk.client.end_session("s-2")


@pytest.mark.parametrize("how", ["steered, cancelled", "queued, ended", "steered, ended"])
async def test_an_accepted_message_that_no_turn_takes_stays_in_the_record(opening: Opening, how: str) -> None:
    begun = asyncio.Event()

    async def hang(_segment: Segment) -> None:
        begun.set()
        await asyncio.sleep(60)

    async with opening(runner=ScriptedRunner(before=hang)) as talk:
        await talk.say("first")
        await begun.wait()
        assert await (talk.say("second") if how.startswith("queued") else talk.steer("second"))
        assert await (talk.cancel() if how.endswith("cancelled") else talk.client.end_session("s-1"))
        await talk.answer()
        left = [(message.text, message.left_out) for message in (await talk.snapshot()).messages]
    assert sorted(left) == [("first", LeftOut.CANCELLED), ("second", LeftOut.CANCELLED)]
