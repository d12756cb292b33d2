"""A call that is due when its Worker is lost, and a Worker whose tools are other ones that goes on with it."""

from __future__ import annotations

import pytest

from dexbridge.sessions import EventKind
from dexbridge.toolsource import OutcomeKind
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Database, Opening, Talk, until
from tests.sessions.worker_processes import call, effects, visitor, worker

pytestmark = pytest.mark.slow

CALL_STEPS = {"cancel_order": "CallSingleAttemptTool", "read_order": "CallTool"}


async def reached(database: Database, point: str) -> None:
    await until((database.folder / f"reached {point}").exists)


async def asked(talk: Talk) -> int:
    return sum(event.kind is EventKind.INTERRUPT_OPENED for event in await talk.events())


@pytest.mark.parametrize(("tool", "approved"), [("cancel_order", True), ("read_order", False)])
async def test_a_call_of_which_nothing_was_sent_asks_when_its_tool_does_now(
    database: Database, tool: str, approved: bool
) -> None:
    async with visitor(database) as talk:
        async with worker(database, "free armed"):
            await talk.say(call("before-row", tool))
            await reached(database, "before-row")
        async with worker(database, "asking"):
            interrupt = await talk.interrupt()
            assert (interrupt.tool, interrupt.arguments) == (tool, {"order_id": "before-row"})
            assert "effect before-row" not in effects(database)
            assert await talk.decide(interrupt, approved=approved)
            answer = await talk.answer()
            (record,) = (await talk.snapshot()).calls
            steps = await talk.steps()
            assert await talk.ask("go on") == "you said go on"
    made = f"{CALL_STEPS[tool]}-2"
    assert steps == [
        "RunModel-1",
        f"{CALL_STEPS[tool]}-1",
        "AwaitToolApproval-1",
        *([made] if approved else []),
        "ResumeTurn-1",
        "RunModel-2",
    ]
    assert (record.outcome, record.text) == (OutcomeKind.SUCCEEDED if approved else OutcomeKind.REJECTED, answer)
    assert record.step_execution_id == (made if approved else "AwaitToolApproval-1")
    assert effects(database).count("effect before-row") == (1 if approved else 0)


async def test_a_call_that_may_have_been_sent_is_not_asked_for_again(database: Database) -> None:
    async with visitor(database) as talk:
        async with worker(database, "free armed"):
            await talk.say(call("after-effect"))
            await reached(database, "after-effect")
        async with worker(database, "asking"):
            await talk.answer()
            (record,) = (await talk.snapshot()).calls
            assert (record.outcome, await asked(talk)) == (OutcomeKind.OUTCOME_UNKNOWN, 0)
    assert effects(database).count("effect after-effect") == 1


async def test_an_approved_call_whose_tool_asks_no_more_is_made(opening: Opening) -> None:
    async with opening(FunctionTool(rule=True)) as talk:
        await talk.say(call("7"))
        interrupt = await talk.interrupt()
    tool = FunctionTool(rule=False)
    async with opening(tool) as talk:
        assert await talk.decide(interrupt, approved=True)
        assert await talk.answer() == "done with 7"
        assert (len(tool.dispatches), await asked(talk)) == (1, 1)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "repeatable armed",
            "nowhere",
            "its effect is now non_idempotent_write, so it belongs",
        ),
        ("armed", "bare", "the tool is no longer offered"),
    ],
)
async def test_an_approved_call_whose_tool_is_another_is_not_made_and_the_session_goes_on(
    database: Database, before: str, after: str, said: str
) -> None:
    async with visitor(database) as talk:
        async with worker(database, before):
            await talk.say(call("before-row"))
            assert await talk.decide(await talk.interrupt(), approved=True)
            await reached(database, "before-row")
        async with worker(database, after):
            answer = await talk.answer()
            (record,) = (await talk.snapshot()).calls
            assert (record.outcome, record.text, record.attempts) == (OutcomeKind.FAILED, answer, 0)
            assert said in answer
            assert await talk.ask("go on") == "you said go on"
    assert "effect before-row" not in effects(database)
