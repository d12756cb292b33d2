"""How long a function of the application may take."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from claude_agent_sdk import SdkMcpTool, tool

from dexbridge.claude.function_tool import function_tools
from dexbridge.claude.testing import Reply, Text, ToolUse
from dexbridge.toolsource import OutcomeKind, ToolEffect, ToolPolicy
from tests.fakes.claude_stage import Stage, answer_of

OpenStage = Callable[..., Awaitable[Stage]]
EFFECTS = [ToolEffect.NON_IDEMPOTENT_WRITE, ToolEffect.IDEMPOTENT_WRITE, ToolEffect.READ]


def lasting(seconds: float) -> SdkMcpTool[Any]:
    @tool("export", "Exports.", {})
    async def export(_arguments: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(seconds)
        return {"content": [{"type": "text", "text": "exported"}]}

    return export


@pytest.mark.parametrize("effect", EFFECTS)
def test_a_step_waits_as_long_as_the_policy_says_and_else_ten_minutes(effect: ToolEffect) -> None:
    export = lasting(0)
    twenty = timedelta(minutes=20)
    (set_to,) = function_tools([export], {"export": ToolPolicy(effect, timeout=twenty)})
    (unset,) = function_tools([export], {"export": ToolPolicy(effect)})
    assert (set_to.timeout, set_to.inline_timeout) == (twenty, twenty)
    assert (unset.timeout, unset.inline_timeout) == (timedelta(minutes=10), None)


async def test_a_write_past_its_timeout_is_cancelled_and_its_outcome_unknown(open_stage: OpenStage) -> None:
    policy = ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE, requires_approval=False, timeout=timedelta(seconds=0.5))
    stage = await open_stage(tools=[lasting(60)], policies={"export": policy})
    stage.model.script(Reply(ToolUse("mcp__tools__export")), Reply(Text("I do not know.")))

    assert answer_of(await stage.turn("Export.")) == "I do not know."

    (call,), (result,) = await stage.calls(), stage.results()
    assert (call.outcome, call.attempts) == (OutcomeKind.OUTCOME_UNKNOWN, 1)
    assert call.text.startswith("export did not end within 0.5 s. It is not known whether export took effect")
    assert (result.text, result.is_error) == (call.text, True)
