"""A call whose arguments hold a credential of its own connection: what is kept of it, and what is not asked again.

The operation refuses it when the request is made (`contract/secrets/withheld.py` of the Connectors). From then on its
arguments are shown masked: in its record, in those of earlier calls that held the same, and in the events (`as_shown`).
"""

from __future__ import annotations

from dexbridge.connectors import BoundOperation
from dexbridge.sessions.state.as_shown import is_masked
from dexbridge.sessions.state.call import CallRecord, PendingCall
from dexbridge.sessions.steps.context import StepContext
from dexbridge.toolsource import OutcomeKind, ToolOutcome

__all__ = ["refused_before", "with_masks"]


async def with_masks(context: StepContext, call: PendingCall) -> tuple[PendingCall, tuple[CallRecord, ...]]:
    """The call as it is recorded, and the earlier records that have to be written anew."""
    bound = _bound(context, call)
    withheld = None if bound is None else await bound.withheld(call.arguments)
    if bound is None or withheld is None:
        return call, ()
    anew: list[CallRecord] = []
    for record in await context.load_calls():
        # One whose outcome is unknown may be settled meanwhile; its record must not be written over.
        if record.connection == call.connection and record.outcome is not OutcomeKind.OUTCOME_UNKNOWN:
            also = await bound.withheld(record.arguments)
            if also is not None:
                anew.append(record.model_copy(update={"arguments": also.arguments}))
    return call.model_copy(update={"arguments": withheld.arguments}), tuple(anew)


async def refused_before(context: StepContext, call: PendingCall) -> ToolOutcome | None:
    """The outcome of a call that nobody is asked about: it repeats what this session was refused for already.

    The first time a person decides about exactly what was asked for, and the request is refused.
    """
    bound = _bound(context, call)
    withheld = None if bound is None else await bound.withheld(call.arguments)
    if withheld is None:
        return None
    before = await context.load_calls()
    if not any(record.connection == call.connection and is_masked(record) for record in before):
        return None
    return ToolOutcome(OutcomeKind.FAILED, withheld.told)


def _bound(context: StepContext, call: PendingCall) -> BoundOperation | None:
    tool = context.flow.tools.find(call.tool)
    return None if tool is None else tool.bound
