"""A call is made only as it was shown, however the tools changed while it waited."""

from __future__ import annotations

from typing import Any

import pytest

from dexbridge.sessions import EventKind
from dexbridge.toolsource import OutcomeKind, ToolEffect
from tests.fakes.connector import bound_post
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Database, Opening
from tests.sessions.worker_processes import visitor

CANCEL = 'call cancel_order {"order_id": "7"}'


def narrowed() -> FunctionTool:
    return FunctionTool(rule=True, input_schema={"type": "object", "properties": {"order": {"type": "string"}}})


class _Rewriting(FunctionTool):
    def validate(self, arguments: object) -> dict[str, object]:
        return {"order_id": "8"}


CHANGES = [
    pytest.param(None, "no longer offered", id="tool gone"),
    pytest.param(narrowed(), "arguments are no longer accepted", id="schema"),
    pytest.param(_Rewriting(rule=True), "no longer be sent as they were shown", id="canonical form"),
    pytest.param(FunctionTool(rule=True, bound=bound_post("other")), "its connection is now", id="connection"),
]


@pytest.mark.parametrize(("changed", "said"), CHANGES)
async def test_a_call_that_changed_while_it_waited_is_not_made(
    opening: Opening, changed: FunctionTool | None, said: str
) -> None:
    before = FunctionTool(rule=True)
    async with opening(before) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
    async with opening(*([] if changed is None else [changed])) as talk:
        assert (await talk.interrupt()) == interrupt
        assert await talk.decide(interrupt, approved=True)
        assert said in await talk.answer()
        assert (await talk.snapshot()).calls[-1].outcome is OutcomeKind.FAILED
        assert before.dispatches == []
        assert changed is None or changed.dispatches == []
        assert await talk.ask("go on") == "you said go on"


async def test_a_write_that_became_unrepeatable_moves_to_the_step_for_those(opening: Opening) -> None:
    async with opening(FunctionTool(rule=True, effect=ToolEffect.IDEMPOTENT_WRITE)) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
    async with opening(FunctionTool(rule=True)) as talk:
        await talk.decide(interrupt, approved=True)
        assert await talk.answer() == "done with 7"
        assert "CallSingleAttemptTool-1" in await talk.steps()


async def test_a_call_whose_approval_is_not_of_exactly_this_call_is_not_made(
    opening: Opening, database: Database
) -> None:
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
    async with visitor(database) as talk:
        assert await talk.decide(interrupt, approved=True)

    def other_call(state: dict[str, Any]) -> None:
        state["decision"]["fingerprint"] = "0" * 64
        state["due"] = {"type": "CallSingleAttemptTool", "number": 1}

    database.change_state("s-1", other_call)
    async with opening(tool) as talk:
        await talk.event(EventKind.TURN_ANSWERED, EventKind.TURN_FAILED)
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.attempts) == (OutcomeKind.FAILED, 0)
        assert "nobody has approved exactly this call" in call.text
        assert (call.decision, call.decided_by) == (None, None)
        assert tool.dispatches == []
