"""An application for the console's tests: no CLI and no model, so a turn takes milliseconds.

A message is a script, as `ScriptedRunner` reads it: `call cancel_order {"order_id": "1"}` asks for a tool, anything
else is echoed. `cancel_order` and `refund_order` ask for approval; what becomes of a refund nobody can tell. A message
that begins with `slow` takes some seconds, in which text is said; one that begins with `refuse` is refused by the API,
and one that begins with `inside` runs a tool by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from dexbridge.sessions import (
    AgentSessionFlow,
    Conversation,
    InsideCall,
    Refused,
    SegmentEnd,
    SegmentFailed,
    SessionLimits,
)
from dexbridge.toolsource import AttemptResult, Dispatch, OfferedTools, Unsettled
from tests.fakes.function_tool import FunctionTool
from tests.fakes.scripted_runner import ScriptedRunner, Segment

LIMITS = SessionLimits(
    message_characters=5_000,
    dispatch_window=timedelta(milliseconds=200),
    reconcile_margin=timedelta(milliseconds=10),
)


async def _refund(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
    return Unsettled("The connection broke after the request had left.")


async def _before(segment: Segment) -> None:
    if any(prompt.startswith("slow") for prompt in segment.prompts):
        await asyncio.sleep(2)
    if any(prompt.startswith("refuse") for prompt in segment.prompts):
        raise SegmentFailed("The API refused it.", refused=Refused.REQUEST)


class _SayingRunner(ScriptedRunner):
    """Says something while it works, as a model's text comes in pieces."""

    async def run_until_call(self, conversation: Conversation, prompts: Sequence[str]) -> SegmentEnd:
        if any(prompt.startswith("slow") for prompt in prompts):
            # Whoever started the session must have opened its page first: what nobody hears is not kept.
            await asyncio.sleep(1)
            for piece in ("Let me ", "<b>think</b>", "\u202e…"):
                conversation.say(piece)
        for prompt in prompts:
            if prompt.startswith("inside"):
                await conversation.began_inside(InsideCall("Bash", "toolu_1", {"command": prompt}))
        return await super().run_until_call(conversation, prompts)


def flows() -> list[AgentSessionFlow]:
    tools = [
        FunctionTool("cancel_order", rule=True),
        FunctionTool("refund_order", rule=True, function=_refund, timeout=timedelta(milliseconds=100)),
        FunctionTool("look_up_order"),
    ]
    return [AgentSessionFlow("Scripted", _SayingRunner(before=_before), OfferedTools(tools), LIMITS)]


@asynccontextmanager
async def opened() -> AsyncGenerator[Sequence[AgentSessionFlow]]:
    yield flows()


def no_flows() -> str:
    return "this is no flow"
