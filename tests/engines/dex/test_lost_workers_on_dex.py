"""A Worker the server has given up on while it lives: it commits nothing, and what it knows settles the record."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from dexbridge.sessions import EventKind, InsideCall
from dexbridge.toolsource import AttemptResult, Dispatch, OutcomeKind, ToolEffect
from tests.engines.dex.conftest import PeerDatabase
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import LIMITS, Opening, until

CANCEL = 'call cancel_order {"order_id": "7"}'


async def test_a_request_under_way_is_looked_up_not_repeated_and_its_late_answer_settles_it(
    opening: Opening, database: PeerDatabase
) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        begun.set()
        await may_end.wait()
        return succeeded("done")

    tool = FunctionTool(function=slow)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        await begun.wait()
        # A Worker of another process does not know who this row's owner is, nor what it gets.
        database.change_attempt("s-1", lambda attempt: attempt.update(owner="somebody"))
        database.peer.lose_workers()
        await talk.answer()
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.step_execution_id) == (OutcomeKind.OUTCOME_UNKNOWN, "CallSingleAttemptTool-1")
        assert (len(tool.dispatches), len(tool.questions)) == (1, 1)
        may_end.set()
        settled = await talk.event(EventKind.OUTCOME_SETTLED)
        assert settled.data["settled_by"] == "provider"
        (call,) = (await talk.snapshot()).calls
        assert call.outcome is OutcomeKind.SUCCEEDED
        assert len(tool.dispatches) == 1
    history = database.peer.flows["s-1"].history
    assert "failed CallSingleAttemptTool-1 execute 1 WORKER_DISCONNECTED" in history
    assert "started Recover-1" in history


async def test_a_single_attempt_that_found_no_worker_is_still_made_once(
    opening: Opening, database: PeerDatabase
) -> None:
    database.peer.fail_dispatch("CallSingleAttemptTool-1")
    tool = FunctionTool()
    async with opening(tool) as talk:
        assert await talk.ask(CANCEL) == "done with 7"
        (call,) = (await talk.snapshot()).calls
    assert (call.outcome, call.attempts) == (OutcomeKind.SUCCEEDED, 1)
    assert [d.step_execution_id for d in tool.dispatches] == ["CallSingleAttemptTool-1"]
    history = database.peer.flows["s-1"].history
    assert "failed CallSingleAttemptTool-1 execute 1 NO_WORKER_AVAILABLE" in history
    assert "completed Recover-1" in history


@pytest.mark.parametrize("effect", [ToolEffect.READ, ToolEffect.NON_IDEMPOTENT_WRITE])
async def test_a_call_under_way_is_waited_for_by_the_process_that_makes_it(
    opening: Opening, database: PeerDatabase, effect: ToolEffect
) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        begun.set()
        await may_end.wait()
        return succeeded("done")

    tool = FunctionTool(effect=effect, function=slow)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        await begun.wait()
        before = database.envelope("s-1")["state"]["leg"]["epoch"]
        database.peer.lose_workers()
        await until(lambda: database.envelope("s-1")["state"]["leg"]["epoch"] > before)
        may_end.set()
        assert await talk.answer() == "done"
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.attempts, call.found_by) == (OutcomeKind.SUCCEEDED, 1, "answer")
        assert (len(tool.dispatches), tool.questions) == (1, [])


async def test_a_read_of_a_lost_worker_is_made_again_under_its_own_identity(
    opening: Opening, database: PeerDatabase
) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow_once(dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        if dispatch.attempt == 1:
            begun.set()
            await may_end.wait()
        return succeeded("read")

    tool = FunctionTool(effect=ToolEffect.READ, function=slow_once)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        await begun.wait()
        database.change_attempt("s-1", lambda attempt: attempt.update(owner="somebody"))
        database.peer.lose_workers()
        assert await talk.answer() == "read"
        may_end.set()
        assert [(d.step_execution_id, d.attempt) for d in tool.dispatches] == [("CallTool-1", 1), ("CallTool-1", 2)]
    assert "started Recover-1" not in database.peer.flows["s-1"].history


async def test_a_segment_under_way_is_stopped_and_run_whole_again(opening: Opening, database: PeerDatabase) -> None:
    begun = asyncio.Event()

    async def hang_once(_segment: Segment) -> None:
        if not begun.is_set():
            begun.set()
            await asyncio.sleep(60)

    runner = ScriptedRunner(before=hang_once)
    async with opening(runner=runner) as talk:
        await talk.say("hello")
        await begun.wait()
        database.peer.lose_workers()
        assert await talk.answer() == "you said hello"
        assert await talk.steps() == ["RunModel-1"]
        assert len(runner.segments) == 2
        assert database.envelope("s-1")["state"]["transcript_rows"] == 2


async def test_an_attempt_that_comes_a_second_time_is_run_again(opening: Opening, database: PeerDatabase) -> None:
    begun: asyncio.Queue[None] = asyncio.Queue()
    runner = ScriptedRunner()

    async def hang_twice(_segment: Segment) -> None:
        begun.put_nowait(None)
        if len(runner.segments) < 3:
            await asyncio.sleep(60)

    runner.before = hang_twice
    async with opening(runner=runner) as talk:
        await talk.say("hello")
        await begun.get()
        database.peer.lose_workers()
        await begun.get()
        database.peer.lose_workers(costs_attempt=False)
        assert await talk.answer() == "you said hello"
        assert await talk.steps() == ["RunModel-1"]
    history = database.peer.flows["s-1"].history
    assert [line for line in history if line.startswith("failed")] == [
        "failed RunModel-1 execute 1 WORKER_DISCONNECTED"
    ]


async def test_every_run_of_a_segment_is_counted_though_dex_counts_one_attempt(
    opening: Opening, database: PeerDatabase
) -> None:
    begun: asyncio.Queue[None] = asyncio.Queue()

    async def hang(_segment: Segment) -> None:
        begun.put_nowait(None)
        await asyncio.sleep(60)

    async with opening(runner=ScriptedRunner(before=hang), limits=replace(LIMITS, segment_runs=2)) as talk:
        await talk.say("hello")
        for _ in range(2):
            async with asyncio.timeout(20):
                await begun.get()
            database.peer.lose_workers(costs_attempt=False)
        assert "begun 2 times, and each time its Worker was lost" in await talk.answer()
    assert not [line for line in database.peer.flows["s-1"].history if line.startswith("failed")]


async def test_steps_are_numbered_as_dex_numbers_them_though_one_was_taken_back(
    opening: Opening, database: PeerDatabase
) -> None:
    begun, held = asyncio.Event(), asyncio.Event()

    async def wait(_segment: Segment) -> None:
        begun.set()
        await held.wait()

    tool = FunctionTool(rule=True)
    async with opening(tool, runner=ScriptedRunner(before=wait)) as talk:
        await talk.say(CANCEL)
        await begun.wait()
        assert await talk.steer(CANCEL)
        held.set()
        interrupt = await talk.interrupt()
        assert interrupt.step_execution_id == "AwaitToolApproval-2"
        assert await talk.decide(interrupt, approved=True)
        await talk.answer()
        assert [call.step_execution_id for call in (await talk.snapshot()).calls] == [
            "AwaitToolApproval-1",
            "CallSingleAttemptTool-1",
        ]
    flow = database.peer.flows["s-1"]
    assert dict(flow.executions) == {
        "RunModel": 3,
        "AwaitToolApproval": 2,
        "ResumeTurn": 2,
        "CallSingleAttemptTool": 1,
    }


async def test_nothing_begins_inside_a_run_that_was_taken_over(opening: Opening, database: PeerDatabase) -> None:
    begun, go_on, over = asyncio.Event(), asyncio.Event(), asyncio.Event()
    ran: list[Segment] = []

    async def wait(_segment: Segment) -> None:
        if begun.is_set():
            return
        begun.set()
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                # As a call in another process that nobody could stop in time.
                continue
        asyncio.get_running_loop().call_later(1, over.set)

    async def after(segment: Segment) -> None:
        ran.append(segment)

    runner = ScriptedRunner(before=wait, after=after, inside=[InsideCall("Bash", "toolu_1", {})])
    async with opening(runner=runner) as talk:
        await talk.say("hello")
        await begun.wait()
        database.peer.lose_workers()
        assert await talk.answer() == "you said hello"
        go_on.set()
        await over.wait()
        events = [event for event in await talk.events() if event.kind is EventKind.INSIDE_CALL_BEGAN]
    assert [event.data["run"] for event in events] == [2]
    assert len(ran) == 1
