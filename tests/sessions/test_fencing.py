"""A run that another one has replaced: it commits nothing and sends nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from dexbridge.sessions import (
    AgentSessionClient,
    Answered,
    CallResult,
    Conversation,
    EventKind,
    InvalidRequest,
    SegmentEnd,
    TranscriptEntry,
    open_engine,
)
from dexbridge.toolsource import AttemptResult, Dispatch, NotDone, OutcomeKind
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import Database, Opening, Talk, flow_of, until

CANCEL = 'call cancel_order {"order_id": "7"}'


BOTH_DATABASES = True


def take_over(database: Database) -> None:
    """What another Worker's claim of the open leg writes."""

    def claim(state: dict[str, Any]) -> None:
        state["leg"] = {**state["leg"], "claimed_by": "another", "epoch": state["leg"]["epoch"] + 1}

    database.change_state("s-1", claim)


async def test_a_segment_that_was_taken_over_is_not_committed(opening: Opening, database: Database) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait(_segment: Segment) -> None:
        begun.set()
        await go_on.wait()

    runner = ScriptedRunner(before=wait)
    async with opening(runner=runner) as talk:
        await talk.say("hello")
        await begun.wait()
        take_over(database)
        before = await talk.snapshot()
        go_on.set()
        # The next session's turn ends after this one's result was dropped.
        await talk.client.start_session("s-2")
        assert await Talk(talk.client, "s-2").ask("hello") == "you said hello"
        await until(lambda: database.workflows()["dexbridge:s-1:leg-1:direct"] == "SUCCESS")
    async with opening() as talk:
        assert before.state.transcript_rows == 0
        assert await talk.answer() == "you said hello"
        assert await talk.steps() == ["RunModel-1"]
        assert (await talk.snapshot()).state.transcript_rows == 2


async def test_a_segment_that_was_taken_over_is_ended(opening: Opening, database: Database) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(_segment: Segment) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with opening(runner=ScriptedRunner(before=wait)) as talk:
        await talk.say("hello")
        await begun.wait()
        take_over(database)
        async with asyncio.timeout(10):
            await ended.wait()


async def test_a_call_that_was_taken_over_is_not_sent_again(opening: Opening, database: Database) -> None:
    begun, go_on, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def busy(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        begun.set()
        await go_on.wait()
        asyncio.get_running_loop().call_later(0.5, over.set)
        return NotDone("busy", timedelta(milliseconds=1))

    frozen = FunctionTool(function=busy)
    async with opening(frozen) as talk:
        await talk.say(CANCEL)
        await begun.wait()
        take_over(database)
        go_on.set()
        await over.wait()
        assert len(frozen.dispatches) == 1
        assert (await talk.snapshot()).calls == ()
        await until(lambda: database.workflows()["dexbridge:s-1:leg-1:direct"] == "SUCCESS")
    async with opening(FunctionTool()) as talk:
        assert await talk.answer() == "done with 7"
        assert (await talk.snapshot()).calls[0].attempts == 2


async def test_a_call_that_comes_too_late_after_its_row_is_not_made(opening: Opening) -> None:
    made: list[Dispatch] = []

    async def function(dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        made.append(dispatch)
        return succeeded("done")

    tool = FunctionTool(function=function, attempts=1)
    limits = flow_of([]).limits
    late = type(limits)(dispatch_window=timedelta(microseconds=1))
    async with opening(tool, limits=late) as talk:
        assert "stood still" in await talk.ask(CANCEL)
        assert made == []
        (call,) = (await talk.snapshot()).calls
        assert call.outcome is OutcomeKind.FAILED


class _Unstorable:
    """Its transcript cannot be written."""

    async def run_until_call(self, conversation: Conversation, prompts: object) -> SegmentEnd:
        return Answered("fine", (TranscriptEntry("{}", subpath="\ud800"),))

    async def give_result(self, conversation: Conversation, result: CallResult, prompts: object = ()) -> SegmentEnd:
        raise AssertionError

    async def close(self) -> None:
        return


async def test_a_commit_that_cannot_be_written_ends_the_turn_not_the_session(opening: Opening) -> None:
    async with opening(runner=_Unstorable()) as talk:  # pyright: ignore[reportArgumentType]
        assert "RunModel-1 stopped with UnicodeEncodeError" in await talk.ask("hello")
        assert [e.kind for e in await talk.events()].count(EventKind.STEP_COMPLETED) == 1
    async with opening() as talk:
        assert await talk.ask("again") == "you said hello; you said again"


async def test_an_engine_is_used_between_entering_and_leaving_it_once(database: Database) -> None:
    engine = open_engine(database.url, [flow_of([])])
    client = AgentSessionClient(engine)
    with pytest.raises(InvalidRequest, match="not open"):
        await client.start_session("s-1")
    async with engine:
        assert await client.start_session("s-1")
    with pytest.raises(InvalidRequest, match="not open"):
        await client.get_snapshot("s-1")
    with pytest.raises(InvalidRequest, match="entered once"):
        await engine.__aenter__()
