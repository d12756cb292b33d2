"""Segments that fail: run whole again, then the turn fails, and nothing the model has to know is lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from dexbridge.sessions import (
    Answered,
    CallResult,
    Conversation,
    EventKind,
    SegmentEnd,
    SegmentFailed,
    SessionLimits,
    SessionStatus,
    TranscriptEntry,
)
from tests.fakes.function_tool import FunctionTool
from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import Opening

CANCEL = 'call cancel_order {"order_id": "7"}'


async def test_a_failed_segment_is_run_whole_again(opening: Opening) -> None:
    runner = ScriptedRunner(failures=[SegmentFailed("busy")])
    async with opening(runner=runner) as talk:
        assert await talk.ask("hello") == "you said hello"
        assert runner.segments == [Segment(("hello",), None)] * 2
        assert await talk.steps() == ["RunModel-1"]
        (step,) = [e for e in await talk.events() if e.kind is EventKind.STEP_COMPLETED]
        assert step.data["segment_attempts"] == 2
        assert (await talk.snapshot()).state.transcript_rows == 2


async def test_after_three_failures_the_turn_fails_and_the_next_message_brings_both(opening: Opening) -> None:
    runner = ScriptedRunner(failures=[SegmentFailed(f"busy {number}") for number in range(3)])
    async with opening(runner=runner) as talk:
        assert await talk.ask("one") == "busy 2"
        assert len(runner.segments) == 3
        snapshot = await talk.snapshot()
        assert (snapshot.state.status, snapshot.state.last_error) == (SessionStatus.IDLE, "busy 2")
        assert snapshot.state.transcript_rows == 0
        assert await talk.ask("two") == "you said one; you said two"
        assert runner.segments[-1] == Segment(("one", "two"), None)
        assert (await talk.snapshot()).state.last_error is None


async def test_a_permanent_failure_and_a_fault_of_the_runner_fail_at_once(opening: Opening) -> None:
    runner = ScriptedRunner(failures=[SegmentFailed("The key is wrong.", permanent=True), ValueError("secret-text")])
    async with opening(runner=runner) as talk:
        assert await talk.ask("one") == "The key is wrong."
        error = await talk.ask("two")
        assert "ValueError" in error
        assert "secret-text" not in error
        assert len(runner.segments) == 2
        assert await talk.ask("three") == "you said one; you said two; you said three"


async def test_an_undelivered_result_survives_a_failed_segment(opening: Opening) -> None:
    tool = FunctionTool()
    runner = ScriptedRunner()

    async def fail_once_the_tool_ran(segment: Segment) -> None:
        if segment.result is not None and not segment.prompts:
            raise SegmentFailed("cut off", permanent=True)

    runner.before = fail_once_the_tool_ran
    async with opening(tool, runner=runner) as talk:
        assert await talk.ask(CANCEL) == "cut off"
        assert await talk.ask("and now?") == "you said and now?"
        given = runner.segments[-1]
        assert given.prompts == ("and now?",)
        assert given.result is not None
        assert given.result.text == "done with 7"
        assert len(tool.dispatches) == 1
        assert (await talk.snapshot()).state.result is None


async def test_a_message_that_waits_follows_a_failed_turn(opening: Opening) -> None:
    held = asyncio.Event()

    async def wait(_segment: Segment) -> None:
        await held.wait()

    runner = ScriptedRunner(failures=[SegmentFailed("no", permanent=True)], before=wait)
    async with opening(runner=runner) as talk:
        await talk.say("one")
        await talk.say("two")
        held.set()
        assert await talk.answer() == "no"
        assert (await talk.event(EventKind.TURN_ANSWERED)).data["text"] == "you said one; you said two"


async def test_a_runner_that_keeps_no_time_limit_is_stopped(opening: Opening) -> None:
    async def hang(_segment: Segment) -> None:
        await asyncio.sleep(60)

    limits = SessionLimits(run_model=timedelta(milliseconds=20), segment_attempts=1)
    async with opening(runner=ScriptedRunner(before=hang), limits=limits) as talk:
        assert "did not end within 0.02 s" in await talk.ask("hello")


async def test_a_framework_that_cancels_itself_does_not_hold_the_session(opening: Opening) -> None:
    runner = ScriptedRunner(failures=[asyncio.CancelledError()])
    async with opening(runner=runner) as talk:
        assert await talk.ask("hello") == "you said hello"
        assert len(runner.segments) == 2


class _Surrogates:
    """Answers with text that has no UTF-8 form."""

    async def run_until_call(self, conversation: Conversation, prompts: object) -> SegmentEnd:
        return Answered("half \ud83d and whole \ud83d\ude00", (TranscriptEntry('"\udfff"'),))

    async def give_result(self, conversation: Conversation, result: CallResult, prompts: object = ()) -> SegmentEnd:
        raise AssertionError

    async def close(self) -> None:
        return


async def test_half_a_surrogate_pair_in_an_answer_is_replaced(opening: Opening) -> None:
    async with opening(runner=_Surrogates()) as talk:  # pyright: ignore[reportArgumentType]
        assert await talk.ask("hello") == "half \ufffd and whole \U0001f600"
        assert (await talk.snapshot()).state.status is SessionStatus.IDLE
