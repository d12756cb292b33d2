"""A Step that raised what it should have handled: the session must go on, and say what is true."""

from __future__ import annotations

import logging

from dexbridge.sessions.changes.turns import end_turn
from dexbridge.sessions.hosting.ledger import AttemptState
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Change, Transition
from dexbridge.sessions.steps.attempt import outcome_from_json
from dexbridge.sessions.steps.context import StepContext, completed
from dexbridge.sessions.steps.results import called
from dexbridge.toolsource import OutcomeKind, ToolOutcome

__all__ = ["broken_step"]

logger = logging.getLogger(__name__)


async def broken_step(context: StepContext, error: Exception) -> Change:
    """Ends the Step: a tool Step with the outcome its ledger allows, another one with its turn.

    The text of the exception may hold anything, so only its type is kept and logged.
    """
    kind = type(error).__name__
    logger.error("%s of %s raised %s; this is a fault of dexbridge.", context.step.id, context.state.session_id, kind)
    call = context.state.call
    if call is not None and context.step.type is StepType.AWAIT_TOOL_APPROVAL:
        # The model waits for this call's result, so the turn must go on with one.
        outcome = ToolOutcome(OutcomeKind.FAILED, f"The call of {call.tool} was not made: {kind} inside dexbridge.")
        return called(context, call, outcome, call_id=None, attempts=0)
    if call is not None and context.step.type in (StepType.CALL_TOOL, StepType.CALL_SINGLE_ATTEMPT_TOOL):
        last = await context.ledger.last(context.step.id)
        if last is not None and last.outcome is not None:
            outcome = outcome_from_json(last.outcome)
        elif last is None or last.state is AttemptState.NOT_DONE:
            outcome = ToolOutcome(OutcomeKind.FAILED, f"The call of {call.tool} was not made: {kind} inside dexbridge.")
        else:
            outcome = ToolOutcome(
                OutcomeKind.OUTCOME_UNKNOWN,
                f"{kind} inside dexbridge: it is not known whether the call of {call.tool} took effect. "
                "Do not repeat it.",
            )
        return called(context, call, outcome, call_id=None, attempts=0 if last is None else last.number)
    reason = f"{context.step.id} stopped with {kind} inside dexbridge; send the message again."

    def change(state: SessionState) -> Transition:
        return end_turn(
            state.model_copy(update={"last_error": reason}),
            completed(context, error=reason),
            NewEvent(kind=EventKind.TURN_FAILED, data={"turn": state.turn, "error": reason}),
        )

    return change
