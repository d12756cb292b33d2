"""What a turn is made of: which Steps, in which order, with which answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dexbridge.sessions import EventKind, SessionStatus
from dexbridge.toolsource import AttemptResult, Dispatch, OutcomeKind, ToolEffect
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.fakes.scripted_runner import ScriptedRunner
from tests.sessions.conftest import Opening, Talk

CANCEL = 'call cancel_order {"order_id": "7"}'


async def test_an_answer_is_one_segment(opening: Opening) -> None:
    async with opening() as talk:
        assert await talk.ask("hello") == "you said hello"
        assert await talk.steps() == ["RunModel-1"]
        snapshot = await talk.snapshot()
        assert [(m.role, m.text) for m in snapshot.messages] == [("user", "hello"), ("assistant", "you said hello")]
        assert snapshot.state.status is SessionStatus.IDLE
        assert snapshot.state.leg is None


async def test_an_approved_write_takes_five_steps(opening: Opening) -> None:
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
        assert (interrupt.tool, interrupt.arguments) == ("cancel_order", {"order_id": "7"})
        assert (await talk.snapshot()).state.status is SessionStatus.WAITING
        assert tool.dispatches == []
        assert await talk.decide(interrupt, approved=True)
        assert await talk.answer() == "done with 7"
        assert await talk.steps() == [
            "RunModel-1",
            "AwaitToolApproval-1",
            "CallSingleAttemptTool-1",
            "ResumeTurn-1",
            "RunModel-2",
        ]
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.attempts, call.decision, call.decided_by) == (
            OutcomeKind.SUCCEEDED,
            1,
            "approved",
            "ann",
        )
        assert [d.step_execution_id for d in tool.dispatches] == ["CallSingleAttemptTool-1"]


@pytest.mark.parametrize("effect", [ToolEffect.READ, ToolEffect.IDEMPOTENT_WRITE])
async def test_what_may_be_repeated_runs_in_call_tool(opening: Opening, effect: ToolEffect) -> None:
    async with opening(FunctionTool(effect=effect)) as talk:
        assert await talk.ask(CANCEL) == "done with 7"
        assert await talk.steps() == ["RunModel-1", "CallTool-1", "ResumeTurn-1", "RunModel-2"]


async def test_a_rejection_reaches_the_model_and_nothing_is_called(opening: Opening) -> None:
    tool, runner = FunctionTool(rule=True), ScriptedRunner()
    async with opening(tool, runner=runner) as talk:
        await talk.say(CANCEL)
        assert await talk.decide(await talk.interrupt(), approved=False, message="Wrong order.")
        answer = await talk.answer()
        assert "rejected" in answer
        assert "Wrong order." in answer
        assert tool.dispatches == []
        assert await talk.steps() == ["RunModel-1", "AwaitToolApproval-1", "ResumeTurn-1", "RunModel-2"]
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.attempts, call.decision, call.decided_by) == (
            OutcomeKind.REJECTED,
            0,
            "rejected",
            "ann",
        )
        (resolved,) = [event for event in await talk.events() if event.kind is EventKind.INTERRUPT_RESOLVED]
        assert (resolved.data["approved"], resolved.data["decided_by"]) == (False, "ann")
        assert call.decided_at is not None
        assert call.started_at <= call.decided_at <= call.ended_at
    given = runner.segments[-1].result
    assert given is not None
    assert given.is_error


async def test_the_same_call_twice_is_two_calls_with_two_approvals(opening: Opening) -> None:
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        await talk.say(f"{CANCEL}\n{CANCEL}")
        first = await talk.interrupt()
        mark = (await talk.snapshot()).last_event
        await talk.decide(first, approved=True)
        second = await talk.interrupt(after=mark)
        assert second.interrupt_id != first.interrupt_id
        assert not await talk.decide(first, approved=True)
        assert len(tool.dispatches) == 1
        assert await talk.decide(second, approved=True)
        assert await talk.answer() == "done with 7; done with 7"
    assert [d.step_execution_id for d in tool.dispatches] == ["CallSingleAttemptTool-1", "CallSingleAttemptTool-2"]


async def test_messages_of_a_busy_session_wait_their_turn(opening: Opening) -> None:
    async with opening(FunctionTool(rule=True)) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
        assert [await talk.say(text) for text in ("one", "two", "three", "four")] == [True, True, True, False]
        assert [m.text for m in (await talk.snapshot()).state.queued] == ["one", "two", "three"]
        await talk.decide(interrupt, approved=True)
        answers: list[str] = []
        after = 0
        while len(answers) < 4:
            event = await talk.event(EventKind.TURN_ANSWERED, after=after)
            after = event.sequence
            answers.append(event.data["text"])
        assert answers == ["done with 7", "you said one", "you said two", "you said three"]


async def test_wrong_arguments_are_refused_before_anyone_is_asked(opening: Opening) -> None:
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        answer = await talk.ask('call cancel_order {"orderid": "7", "note": "x"}')
        assert "order_id: missing" in answer
        assert "orderid: unknown argument" in answer
        assert await talk.steps() == ["RunModel-1", "ResumeTurn-1", "RunModel-2"]
        assert tool.dispatches == []
        (call,) = (await talk.snapshot()).calls
        assert call.outcome is OutcomeKind.FAILED


async def test_a_tool_that_is_not_offered_is_named(opening: Opening) -> None:
    async with opening() as talk:
        assert await talk.ask('call wipe {"x": 1}') == "There is no tool 'wipe'; nothing was called."


async def test_half_a_surrogate_pair_in_arguments_is_the_models_fault_not_the_sessions(opening: Opening) -> None:
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        answer = await talk.ask('call cancel_order {"order_id": "\\ud800"}')
        assert "order_id: holds half of a surrogate pair" in answer
        assert "There is no tool" in await talk.ask('call wipe {"x": "\\ud800"}')
        assert await talk.ask("still there?") == "you said still there?"


async def test_only_a_clear_false_of_a_predicate_lets_a_call_go(opening: Opening) -> None:
    def rule(arguments: Mapping[str, Any]) -> bool:
        if arguments["order_id"] == "raise":
            raise RuntimeError
        return arguments["order_id"] != "small"

    async with opening(FunctionTool(rule=rule)) as talk:
        assert await talk.ask('call cancel_order {"order_id": "small"}') == "done with small"
        for order in ("large", "raise"):
            mark = (await talk.snapshot()).last_event
            await talk.say(f'call cancel_order {{"order_id": "{order}"}}')
            interrupt = await talk.interrupt(after=mark)
            assert interrupt.arguments == {"order_id": order}
            await talk.decide(interrupt, approved=True)
            assert await talk.answer(after=mark) == f"done with {order}"


async def test_a_tool_may_speak_to_another_session(opening: Opening) -> None:
    talks: list[Talk] = []

    async def hand_over(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        await talks[0].client.start_session("s-2")
        await talks[0].client.send_user_message("s-2", "from s-1")
        return succeeded("handed over")

    async with opening(FunctionTool(function=hand_over)) as talk:
        talks.append(talk)
        assert await talk.ask(CANCEL) == "handed over"
        assert await Talk(talk.client, "s-2").answer() == "you said from s-1"
