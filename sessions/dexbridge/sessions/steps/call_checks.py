"""The last look before a call is made: is it still exactly the call that was shown?"""

from __future__ import annotations

import copy

from dexbridge.sessions.call import PendingCall
from dexbridge.sessions.interrupt import Decision
from dexbridge.sessions.step import StepType
from dexbridge.toolsource import (
    AgentTool,
    InvalidArguments,
    OfferedTools,
    OutcomeKind,
    ToolEffect,
    ToolOutcome,
    fingerprint,
)

__all__ = ["find_unchanged", "tool_step"]


def tool_step(tool: AgentTool) -> StepType:
    """The Step that runs a call of the tool."""
    if tool.effect is ToolEffect.NON_IDEMPOTENT_WRITE:
        return StepType.CALL_SINGLE_ATTEMPT_TOOL
    return StepType.CALL_TOOL


def find_unchanged(
    tools: OfferedTools, call: PendingCall, decision: Decision | None, due: StepType
) -> AgentTool | ToolOutcome:
    """Returns the tool to call, or the outcome of a call that must not be made because something changed.

    An approval holds for one tool, connection and set of arguments (architecture decision 6); a deployment may have
    changed any of them since. So may the effect have: a write that became unrepeatable must not run in CallTool.
    """
    if call.asked and not _approves(decision, call):
        return ToolOutcome(
            OutcomeKind.FAILED, f"The call of {call.tool} was not made: nobody has approved exactly this call."
        )
    tool = tools.find(call.tool)
    if tool is None:
        return _not_made(call, "the tool is no longer offered")
    connection = None if tool.bound is None else str(tool.bound.reference)
    if connection != call.connection:
        return _not_made(call, f"its connection is now {connection}, it was {call.connection}")
    if (step := tool_step(tool)) is not due:
        return _not_made(call, f"its effect is now {tool.effect.value}, so it belongs to {step.value}")
    try:
        arguments = tool.validate(copy.deepcopy(call.arguments))
    except InvalidArguments as error:
        return _not_made(call, f"its arguments are no longer accepted: {'; '.join(error.faults)}")
    if fingerprint(arguments) != call.fingerprint:
        return _not_made(call, "its arguments would no longer be sent as they were shown")
    return tool


def _approves(decision: Decision | None, call: PendingCall) -> bool:
    return decision is not None and decision.approved is True and decision.fingerprint == call.fingerprint


def _not_made(call: PendingCall, why: str) -> ToolOutcome:
    return ToolOutcome(
        OutcomeKind.FAILED,
        f"The call of {call.tool} was not made: since it was asked for, {why}. Ask for it again.",
    )
