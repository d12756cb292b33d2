"""What a run that was taken over still knows of its call: it settles an outcome that had to be left unknown."""

from __future__ import annotations

from dexbridge.sessions.changes.withdrawal import settled_event
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Refusal, Settle, Transition
from dexbridge.sessions.steps.attempt import outcome_from_json
from dexbridge.sessions.steps.context import StepContext
from dexbridge.toolsource import OutcomeKind

__all__ = ["late_truth"]

_UNKNOWN = OutcomeKind.OUTCOME_UNKNOWN


async def late_truth(context: StepContext) -> Settle | None:
    """The change that settles the record with the end this run saw; `None` when it saw none, or was no tool Step.

    Source: architecture decision 4: a late true answer settles an unknown.
    """
    if context.step.type not in (StepType.CALL_TOOL, StepType.CALL_SINGLE_ATTEMPT_TOOL):
        return None
    last = await context.ledger.last(context.step.id)
    if last is None or last.outcome is None:
        return None
    outcome = outcome_from_json(last.outcome)

    def settle(state: SessionState, record: CallRecord) -> Transition | Refusal:
        if record.outcome is not _UNKNOWN or outcome.kind is _UNKNOWN:
            return Refusal("there is nothing to settle")
        settled = record.model_copy(
            update={
                "outcome": outcome.kind,
                "receipt": None if outcome.receipt is None else dict(outcome.receipt),
                "settled_by": "provider",
                "settled_at": now(),
            }
        )
        return Transition(state, calls=(settled,), events=(settled_event(settled),))

    return settle
