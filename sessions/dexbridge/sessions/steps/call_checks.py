"""The last look before a call is made: is it still exactly the call that was shown?"""

from __future__ import annotations

from dexbridge.sessions.call import PendingCall
from dexbridge.toolsource import (
    AgentTool,
    InvalidArguments,
    OfferedTools,
    OutcomeKind,
    ToolOutcome,
    fingerprint,
)

__all__ = ["find_unchanged"]


def find_unchanged(tools: OfferedTools, call: PendingCall) -> AgentTool | ToolOutcome:
    """Returns the tool to call, or the outcome of a call that must not be made because something changed.

    An approval holds for one tool, connection and set of arguments (architecture decision 6); a deployment may have
    changed any of them since.
    """
    tool = tools.find(call.tool)
    if tool is None:
        return _not_made(call, "the tool is no longer offered")
    connection = None if tool.bound is None else str(tool.bound.reference)
    if connection != call.connection:
        return _not_made(call, f"its connection is now {connection}, it was {call.connection}")
    try:
        arguments = tool.validate(call.arguments)
    except InvalidArguments as error:
        return _not_made(call, f"its arguments are no longer accepted: {'; '.join(error.faults)}")
    if fingerprint(arguments) != call.fingerprint:
        return _not_made(call, "its arguments would no longer be sent as they were shown")
    return tool


def _not_made(call: PendingCall, why: str) -> ToolOutcome:
    return ToolOutcome(
        OutcomeKind.FAILED,
        f"The call of {call.tool} was not made: since it was asked for, {why}. Ask for it again.",
    )
