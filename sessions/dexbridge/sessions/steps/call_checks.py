"""The last look before a call is made: is it still exactly the call that was shown?"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from typing import Any

from dexbridge.sessions.state.call import PendingCall
from dexbridge.sessions.state.interrupt import Decision
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Change, Transition
from dexbridge.sessions.steps.context import StepContext, completed
from dexbridge.toolsource import (
    AgentTool,
    InvalidArguments,
    OfferedTools,
    OutcomeKind,
    ToolEffect,
    ToolOutcome,
    fingerprint,
)

__all__ = ["ask_first", "asks", "find_unchanged", "must_ask", "tool_step"]

logger = logging.getLogger(__name__)


def tool_step(tool: AgentTool) -> StepType:
    """The Step that runs a call of the tool."""
    if tool.effect is ToolEffect.NON_IDEMPOTENT_WRITE:
        return StepType.CALL_SINGLE_ATTEMPT_TOOL
    return StepType.CALL_TOOL


def asks(tool: AgentTool, arguments: Mapping[str, Any]) -> bool:
    """Whether a person must approve a call with these arguments: only a clear `False` lets it go without one."""
    try:
        return tool.asks(copy.deepcopy(dict(arguments))) is not False
    except Exception as error:  # noqa: BLE001 - a rule that fails must ask
        logger.warning("The approval rule of %s raised %s; the call asks.", tool.name, type(error).__name__)
        return True


def must_ask(tool: AgentTool, call: PendingCall) -> bool:
    """Whether a call that was let go without a person needs one now, since the tool's rule is another one.

    One that was asked for needs no second look: `find_unchanged` has found that exactly this call was approved.
    """
    return not call.asked and asks(tool, call.arguments)


def ask_first(context: StepContext, call: PendingCall) -> Change:
    """The change that sends a call of which nothing was sent to AwaitToolApproval."""

    def change(state: SessionState) -> Transition:
        asking = state.model_copy(update={"call": call.model_copy(update={"asked": True})})
        event = completed(context, tool=call.tool, tool_use_id=call.tool_use_id, ended="asks")
        return Transition(asking.with_due(StepType.AWAIT_TOOL_APPROVAL), events=(event,))

    return change


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
