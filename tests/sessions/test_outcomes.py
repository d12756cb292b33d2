"""What a tool's end means: for the call's record, for the model, and for whether it may be called again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dexbridge.sessions import CallRecord, EventKind
from dexbridge.toolsource import (
    AttemptResult,
    Completed,
    Dispatch,
    NotDone,
    OutcomeKind,
    Reconciled,
    StillUnknown,
    ToolEffect,
    ToolOutcome,
    Unsettled,
)
from tests.fakes.function_tool import Function, FunctionTool, LookUp, failed, succeeded
from tests.sessions.conftest import Opening, Talk

CANCEL = 'call cancel_order {"order_id": "7", "note": {"lines": [1]}}'
SOON = timedelta(milliseconds=10)


def in_turn(*ends: AttemptResult | BaseException) -> Function:
    """A function that ends in these ways, one after the other."""
    left = list(ends)

    async def function(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        end = left.pop(0)
        if isinstance(end, BaseException):
            raise end
        return end

    return function


def tells(*found: Reconciled | BaseException) -> LookUp:
    left = list(found)

    async def look_up(*_: object) -> Reconciled:
        end = left.pop(0)
        if isinstance(end, BaseException):
            raise end
        return end

    return look_up


async def last_call(talk: Talk) -> CallRecord:
    return (await talk.snapshot()).calls[-1]


# Each test makes its own: the tests of another engine run these in the same process.
Make = Callable[[], FunctionTool]
SENT = ToolOutcome(OutcomeKind.SUCCEEDED, "found", {"provider_object_id": "9"})
NOT_SENT = ToolOutcome(OutcomeKind.FAILED, "not there")
WRITES: list[tuple[str, Make, OutcomeKind, int, int]] = [
    ("says it failed", lambda: FunctionTool(function=in_turn(failed("no stock"))), OutcomeKind.FAILED, 1, 0),
    (
        "did nothing, then succeeds",
        lambda: FunctionTool(function=in_turn(NotDone("busy", SOON), succeeded("ok"))),
        OutcomeKind.SUCCEEDED,
        2,
        0,
    ),
    (
        "did nothing three times",
        lambda: FunctionTool(function=in_turn(*[NotDone("busy", SOON)] * 3)),
        OutcomeKind.FAILED,
        3,
        0,
    ),
    (
        "asks for a long pause",
        lambda: FunctionTool(function=in_turn(NotDone("busy", timedelta(minutes=10)))),
        OutcomeKind.FAILED,
        1,
        0,
    ),
    ("is unsettled", lambda: FunctionTool(function=in_turn(Unsettled("cut"))), OutcomeKind.OUTCOME_UNKNOWN, 1, 1),
    ("raises", lambda: FunctionTool(function=in_turn(ValueError("secret"))), OutcomeKind.OUTCOME_UNKNOWN, 1, 1),
    (
        "is cancelled",
        lambda: FunctionTool(function=in_turn(asyncio.CancelledError())),
        OutcomeKind.OUTCOME_UNKNOWN,
        1,
        1,
    ),
    ("times out inside", lambda: FunctionTool(function=in_turn(TimeoutError())), OutcomeKind.OUTCOME_UNKNOWN, 1, 1),
    (
        "returns nothing",
        lambda: FunctionTool(function=in_turn(None)),  # pyright: ignore[reportArgumentType]
        OutcomeKind.OUTCOME_UNKNOWN,
        1,
        1,
    ),
    (
        "is found sent",
        lambda: FunctionTool(function=in_turn(Unsettled("cut")), look_up=tells(SENT)),
        OutcomeKind.SUCCEEDED,
        1,
        1,
    ),
    (
        "is found not sent",
        lambda: FunctionTool(function=in_turn(Unsettled("cut")), look_up=tells(NOT_SENT)),
        OutcomeKind.FAILED,
        1,
        1,
    ),
    (
        "cannot be looked up",
        lambda: FunctionTool(function=in_turn(Unsettled("cut")), look_up=tells(ValueError("secret"))),
        OutcomeKind.OUTCOME_UNKNOWN,
        1,
        1,
    ),
]


@pytest.mark.parametrize(
    ("make", "outcome", "attempts", "questions"), [row[1:] for row in WRITES], ids=[row[0] for row in WRITES]
)
async def test_a_write_that(opening: Opening, make: Make, outcome: OutcomeKind, attempts: int, questions: int) -> None:
    tool = make()
    async with opening(tool) as talk:
        answer = await talk.ask(CANCEL)
        call = await last_call(talk)
        assert (call.outcome, call.attempts, len(tool.questions)) == (outcome, attempts, questions)
        assert call.text == answer
        assert [d.attempt for d in tool.dispatches] == list(range(1, attempts + 1))
        loud = [e for e in await talk.events() if e.kind is EventKind.OUTCOME_UNKNOWN]
        assert len(loud) == (1 if outcome is OutcomeKind.OUTCOME_UNKNOWN else 0)
        assert "secret" not in answer
        if outcome is OutcomeKind.OUTCOME_UNKNOWN:
            assert call.receipt is None
        if questions:
            ((opened_at, ended_by),) = tool.questions
            assert ended_by - opened_at == timedelta(seconds=2) + tool.timeout + timedelta(milliseconds=50)
            assert tool.given_up == [ended_by + timedelta(minutes=2)]


async def test_a_call_that_takes_too_long_is_unknown(opening: Opening) -> None:
    async def hang(*_: object) -> AttemptResult:
        await asyncio.sleep(60)
        raise AssertionError

    tool = FunctionTool(function=hang, timeout=timedelta(milliseconds=30))
    async with opening(tool) as talk:
        assert "did not end within 0.03 s" in await talk.ask(CANCEL)
        assert (await last_call(talk)).outcome is OutcomeKind.OUTCOME_UNKNOWN


async def test_a_question_asked_too_early_is_asked_again_when_it_says(opening: Opening) -> None:
    asked: list[datetime] = []
    again = timedelta(milliseconds=60)

    async def look_up(*_: object) -> Reconciled:
        asked.append(datetime.now(UTC))
        return StillUnknown("too early", asked[0] + again) if len(asked) == 1 else SENT

    tool = FunctionTool(function=in_turn(Unsettled("cut")), look_up=look_up)
    async with opening(tool) as talk:
        assert await talk.ask(CANCEL) == "found"
        assert asked[1] - asked[0] >= again * 0.9
        assert (await last_call(talk)).receipt == {"provider_object_id": "9"}


async def test_a_question_put_off_for_days_ends_as_unknown(opening: Opening) -> None:
    far = StillUnknown("ask next week", datetime.now(UTC) + timedelta(days=7))
    tool = FunctionTool(function=in_turn(Unsettled("cut")), look_up=tells(far))
    async with opening(tool) as talk:
        assert "ask next week" in await talk.ask(CANCEL)
        assert (await last_call(talk)).outcome is OutcomeKind.OUTCOME_UNKNOWN


READ, AGAIN = ToolEffect.READ, ToolEffect.IDEMPOTENT_WRITE
REPEATABLE: list[tuple[str, Make, OutcomeKind, int]] = [
    (
        "read: raises, then succeeds",
        lambda: FunctionTool(effect=READ, function=in_turn(NotDone("busy", SOON), ValueError(), succeeded("ok"))),
        OutcomeKind.SUCCEEDED,
        3,
    ),
    (
        "read: never settles",
        lambda: FunctionTool(effect=READ, attempts=1, function=in_turn(Unsettled("cut"))),
        OutcomeKind.FAILED,
        1,
    ),
    (
        "write: never settles",
        lambda: FunctionTool(effect=AGAIN, attempts=1, function=in_turn(Unsettled("cut"))),
        OutcomeKind.OUTCOME_UNKNOWN,
        1,
    ),
    (
        "write: does nothing",
        lambda: FunctionTool(effect=AGAIN, attempts=2, function=in_turn(NotDone("busy", SOON), NotDone("busy", SOON))),
        OutcomeKind.FAILED,
        2,
    ),
    (
        "write: a doubt is not taken away by a later attempt that did nothing",
        lambda: FunctionTool(effect=AGAIN, attempts=2, function=in_turn(Unsettled("cut"), NotDone("busy", SOON))),
        OutcomeKind.OUTCOME_UNKNOWN,
        2,
    ),
]


@pytest.mark.parametrize(
    ("make", "outcome", "attempts"), [row[1:] for row in REPEATABLE], ids=[row[0] for row in REPEATABLE]
)
async def test_a_repeatable(opening: Opening, make: Make, outcome: OutcomeKind, attempts: int) -> None:
    tool = make()
    async with opening(tool) as talk:
        await talk.ask(CANCEL)
        call = await last_call(talk)
        assert (call.outcome, call.attempts) == (outcome, attempts)
        assert [(d.step_execution_id, d.attempt) for d in tool.dispatches] == [
            ("CallTool-1", number) for number in range(1, attempts + 1)
        ]
        assert tool.questions == []


async def test_what_a_tool_does_to_its_arguments_changes_no_record(opening: Opening) -> None:
    async def spoil(_dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
        arguments["note"]["lines"].append(2)
        return NotDone("busy", SOON) if len(tool.dispatches) == 1 else succeeded(str(arguments["note"]))

    def rule(arguments: Mapping[str, Any]) -> bool:
        arguments["note"]["lines"].clear()
        return False

    tool = FunctionTool(function=spoil, rule=rule)
    async with opening(tool) as talk:
        assert await talk.ask(CANCEL) == "{'lines': [1, 2]}"
        assert (await last_call(talk)).arguments == {"order_id": "7", "note": {"lines": [1]}}


async def test_a_result_that_cannot_be_stored_as_it_is_keeps_its_outcome(opening: Opening) -> None:
    odd = Completed(ToolOutcome(OutcomeKind.SUCCEEDED, "half \ud800", {"when": datetime.now(UTC)}))
    async with opening(FunctionTool(function=in_turn(odd))) as talk:
        assert await talk.ask(CANCEL) == "half \ufffd"
        call = await last_call(talk)
        assert (call.outcome, call.receipt) == (OutcomeKind.SUCCEEDED, None)
