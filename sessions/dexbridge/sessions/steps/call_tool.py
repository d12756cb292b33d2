"""CallTool: a read, or a write that may be repeated."""

from __future__ import annotations

from dexbridge.sessions.errors import DispatchCancelled
from dexbridge.sessions.hosting.ledger import Attempt, AttemptState
from dexbridge.sessions.state.call import PendingCall
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.transition import Change
from dexbridge.sessions.steps.attempt import (
    after_change,
    dispatch_of,
    make_attempt,
    outcome_from_json,
    outcome_to_json,
    retry_policy,
)
from dexbridge.sessions.steps.call_checks import ask_first, find_unchanged, must_ask
from dexbridge.sessions.steps.context import StepContext
from dexbridge.sessions.steps.results import called, cancelled
from dexbridge.sessions.steps.withheld import with_masks
from dexbridge.toolsource import (
    AgentTool,
    Completed,
    NotDone,
    OutcomeKind,
    ToolOutcome,
    Unsettled,
)

__all__ = ["call_tool"]


class _Cancelled(Exception):
    """The turn was cancelled before another attempt could be made."""

    def __init__(self, attempts: int, doubt: Unsettled | None) -> None:
        self.attempts = attempts
        self.doubt = doubt
        super().__init__()


async def call_tool(context: StepContext) -> Change:
    """Makes the call, again when it failed, up to the tool's number of attempts, all under one Call ID."""
    call = context.state.call
    assert call is not None, "CallTool is due only with a call"
    tool = find_unchanged(context.flow.tools, call, context.state.decision, context.step.type)
    last = await context.ledger.last(context.step.id)
    if isinstance(tool, ToolOutcome):
        outcome = tool if last is None else after_change(call.tool, last, tool)
        return called(context, call, outcome, call_id=None, attempts=0 if last is None else last.number)
    if last is None and must_ask(tool, call):
        return ask_first(context, call)
    try:
        outcome, attempts = await _outcome(context, tool, dict(call.arguments), last)
    except _Cancelled as stopped:
        outcome, attempts = _after_cancel(call, tool, stopped), stopped.attempts
    call_id = tool.call_id(dispatch_of(context)) if attempts else None
    recorded, anew = await with_masks(context, call)
    return called(context, recorded, outcome, call_id=call_id, attempts=attempts, anew=anew)


async def _outcome(
    context: StepContext, tool: AgentTool, arguments: dict[str, object], last: Attempt | None
) -> tuple[ToolOutcome, int]:
    if last is not None and last.outcome is not None:
        return outcome_from_json(last.outcome), last.number
    number = 0 if last is None else last.number
    why: NotDone | Unsettled = NotDone("The Worker was lost after the last attempt.")
    doubt: Unsettled | None = None
    here = last if last is not None and last.state is AttemptState.OPEN and context.ledger.begun_here(last) else None
    if here is not None:
        number -= 1
    if last is not None and ((last.state is AttemptState.OPEN and here is None) or last.number > 1):
        # Rows before the last one are not read; one of them may have been left open.
        why = doubt = Unsettled("The Worker was lost while the call was under way.")
    policy = retry_policy(tool)
    give_up_at = now() + policy.within
    while number < tool.attempts:
        number += 1
        try:
            attempt = here or await context.ledger.open(context.step.id, number, context.flow.limits.dispatch_window)
        except DispatchCancelled:
            raise _Cancelled(number - 1, doubt) from None
        here = None
        if attempt is None:
            continue
        result = await make_attempt(context, tool, attempt, arguments)
        match result:
            case Completed(outcome=outcome):
                await context.ledger.close(attempt, AttemptState.ENDED, outcome_to_json(outcome), now())
                return outcome, number
            case NotDone():
                await context.ledger.close(attempt, AttemptState.NOT_DONE, None, now())
            case Unsettled():
                doubt = result
        why = result
        pause = (result.delay if isinstance(result, NotDone) else None) or policy.pause_after(number)
        if now() + pause > give_up_at:
            break
        if number < tool.attempts:
            await context.pause(pause.total_seconds())
    if tool.effect.is_write and doubt is not None:
        # That the last attempt did nothing says nothing of an earlier one.
        why = doubt
    return _given_up(tool, why, number), number


def _after_cancel(call: PendingCall, tool: AgentTool, stopped: _Cancelled) -> ToolOutcome:
    if stopped.attempts == 0:
        return cancelled(call)
    why = stopped.doubt if tool.effect.is_write and stopped.doubt is not None else NotDone("The turn was cancelled.")
    return _given_up(tool, why, stopped.attempts)


def _given_up(tool: AgentTool, why: NotDone | Unsettled, attempts: int) -> ToolOutcome:
    if isinstance(why, NotDone):
        wait = f" It may be asked for again after {round(why.delay.total_seconds())} s." if why.delay else ""
        return ToolOutcome(
            OutcomeKind.FAILED, f"{tool.name} changed nothing after {attempts} attempt(s): {why.text}{wait}"
        )
    if tool.effect.is_write:
        return ToolOutcome(
            OutcomeKind.OUTCOME_UNKNOWN,
            f"{why.text} After {attempts} attempt(s) it is not known whether {tool.name} took effect.",
        )
    return ToolOutcome(OutcomeKind.FAILED, f"{tool.name} failed after {attempts} attempt(s): {why.text}")
