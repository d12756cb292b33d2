"""A Step that leads where the graph does not have one is refused, and the session goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from dexbridge.sessions import EventKind
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.steps.step_graph import FOLLOWS
from dexbridge.toolsource import AttemptResult, Dispatch, OutcomeKind
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.sessions.conftest import Opening

CANCEL = 'call cancel_order {"order_id": "7"}'
ONCE = StepType.CALL_SINGLE_ATTEMPT_TOOL


def without(monkeypatch: pytest.MonkeyPatch, step: StepType, following: StepType) -> None:
    """The code and the table disagree from now on."""
    rest = {one: when for one, when in FOLLOWS[step].items() if one is not following}
    monkeypatch.setitem(cast("dict[StepType, Mapping[StepType | None, str]]", FOLLOWS), step, rest)


async def test_a_segment_that_leads_outside_the_graph_fails_its_turn(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = FunctionTool()
    async with opening(tool) as talk:
        with monkeypatch.context() as patch:
            without(patch, StepType.RUN_MODEL, ONCE)
            assert "RunModel-1 stopped with RuntimeError inside dexbridge" in await talk.ask(CANCEL)
        assert tool.dispatches == []
        assert (await talk.snapshot()).state.call is None
        assert await talk.ask("go on") == "you said go on"


async def test_a_call_that_was_made_is_told_though_its_step_leads_outside_the_graph(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def made(_dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
        without(monkeypatch, ONCE, StepType.RESUME_TURN)
        return succeeded(f"done with {arguments['order_id']}")

    tool = FunctionTool(function=made)
    async with opening(tool) as talk:
        assert await talk.ask(CANCEL) == "done with 7"
        (record,) = (await talk.snapshot()).calls
        assert (record.outcome, len(tool.dispatches)) == (OutcomeKind.SUCCEEDED, 1)
        completed = [event for event in await talk.events() if event.kind is EventKind.STEP_COMPLETED]
        assert len(completed) == len({event.data["step_execution_id"] for event in completed})
