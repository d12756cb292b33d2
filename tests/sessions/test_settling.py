"""Unknown outcomes: settled by a person, or by the provider's late answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from dexbridge.sessions import EventKind, InvalidRequest
from dexbridge.toolsource import AttemptResult, Dispatch, OutcomeKind, Unsettled
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.sessions.conftest import Database, Opening

BOTH_DATABASES = True
CANCEL = 'call cancel_order {"order_id": "7"}'
STEP = "CallSingleAttemptTool-1"


async def lost(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
    return Unsettled("cut")


@pytest.mark.parametrize(("sent", "outcome"), [(True, OutcomeKind.SUCCEEDED), (False, OutcomeKind.FAILED)])
async def test_a_person_settles_an_unknown_once(opening: Opening, sent: bool, outcome: OutcomeKind) -> None:
    tool = FunctionTool(function=lost)
    async with opening(tool) as talk:
        await talk.ask(CANCEL)
        before = (await talk.snapshot()).calls[0]
        settle = talk.client.resolve_outcome
        assert await settle("s-1", STEP, sent=sent, note="seen in the shop", settled_by="ann")
        assert not await settle("s-1", STEP, sent=not sent)
        assert not await settle("s-1", "CallSingleAttemptTool-2", sent=sent)
        for wrong in ("\x00", "", "CallTool", "a" * 60 + "-1", 7):
            with pytest.raises(InvalidRequest, match="step_execution_id"):
                await settle("s-1", wrong, sent=sent)  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidRequest, match="sent must be"):
            await settle("s-1", STEP, sent="yes")  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidRequest, match="note"):
            await settle("s-1", STEP, sent=True, note="\x00")
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.settled_by, call.settled_person, call.note) == (
            outcome,
            "person",
            "ann",
            "seen in the shop",
        )
        assert call.text == before.text
        assert len(tool.dispatches) == 1
        settled = await talk.event(EventKind.OUTCOME_SETTLED)
        assert (settled.data["outcome"], settled.data["step_execution_id"]) == (outcome.value, STEP)


def taken_over(state: dict[str, Any]) -> None:
    """As after a take-over; the sweep of this same process finds that nothing runs this leg, and runs it."""
    state["leg"] = {"number": state["leg"]["number"] + 1, "claimed_by": None, "epoch": 0}
    state["legs"] += 1


async def test_a_leg_that_is_run_again_here_waits_for_the_answer_this_process_is_about_to_get(
    opening: Opening, database: Database
) -> None:
    begun, may_end, joined = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        begun.set()
        await may_end.wait()
        return succeeded("done once")

    tool = FunctionTool(function=slow)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        await begun.wait()
        database.change_state("s-1", taken_over)
        while not joined.is_set():
            await asyncio.sleep(0.05)
            leg = (await talk.snapshot()).state.leg
            if leg is not None and leg.claimed_by is not None:
                joined.set()
        may_end.set()
        assert await talk.answer() == "done once"
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.attempts, call.found_by) == (OutcomeKind.SUCCEEDED, 1, "answer")
        assert (len(tool.dispatches), tool.questions) == (1, [])


async def test_the_answer_of_a_worker_that_was_taken_over_settles_it(opening: Opening, database: Database) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        begun.set()
        await may_end.wait()
        return succeeded("done after all")

    async with opening(FunctionTool(function=slow)) as talk:
        await talk.say(CANCEL)
        await begun.wait()

        # A Worker of another process does not know who this row's owner is, nor what it got.
        database.change_attempt("s-1", STEP, lambda attempt: attempt.update(owner="somebody"))
        database.change_state("s-1", taken_over)
        answer = await talk.answer()
        assert "not known" in answer or "Nobody can tell" in answer
        assert (await talk.snapshot()).calls[0].outcome is OutcomeKind.OUTCOME_UNKNOWN
        may_end.set()
        settled = await talk.event(EventKind.OUTCOME_SETTLED)
        assert settled.data["settled_by"] == "provider"
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.settled_by, call.text) == (OutcomeKind.SUCCEEDED, "provider", answer)
