"""Recording what became of a call, so that the model gets it and people can read it."""

from __future__ import annotations

from dataclasses import replace

from dexbridge.sessions.changes.withdrawal import call_record, cancelled, result_of
from dexbridge.sessions.state.call import CallRecord, PendingCall, ToolWish
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.text import storable_json
from dexbridge.sessions.state.transition import Change, Transition
from dexbridge.sessions.steps.context import StepContext, completed
from dexbridge.toolsource import OutcomeKind, ToolOutcome, fingerprint

__all__ = ["called", "cancelled", "not_called", "recorded"]


def called(
    context: StepContext,
    call: PendingCall,
    outcome: ToolOutcome,
    *,
    call_id: str | None,
    attempts: int,
    anew: tuple[CallRecord, ...] = (),
) -> Change:
    """The change a tool Step ends with; `anew` are earlier records that are written again."""

    def change(state: SessionState) -> Transition:
        record = _record(context, state, call, outcome, call_id=call_id, attempts=attempts)
        event = completed(
            context,
            tool=call.tool,
            connection=call.connection,
            tool_use_id=call.tool_use_id,
            call_id=call_id,
            outcome=outcome.kind.value,
            found_by=record.found_by,
            attempts=attempts,
            receipt=record.receipt,
        )
        transition = recorded(state, record, event)
        return replace(transition, calls=(*anew, *transition.calls))

    return change


def not_called(context: StepContext, state: SessionState, wish: ToolWish, outcome: ToolOutcome) -> Transition:
    """The call ends without a tool Step: it could not be made as the model asked for it."""
    # What the model made up may be no JSON at all; the record then goes without it.
    arguments = storable_json(wish.arguments) or {}
    call = PendingCall(
        tool_use_id=wish.tool_use_id,
        tool=wish.tool,
        connection=None,
        arguments=arguments,
        fingerprint=fingerprint(arguments),
        asked=False,
    )
    return recorded(state, _record(context, state, call, outcome, call_id=None, attempts=0))


def recorded(state: SessionState, record: CallRecord, *events: NewEvent) -> Transition:
    """The result is kept for the model, and ResumeTurn is due."""
    moved = state.model_copy(update={"call": None, "interrupt": None, "decision": None, "result": result_of(record)})
    loud = (
        (
            NewEvent(
                kind=EventKind.OUTCOME_UNKNOWN,
                data={
                    "step_execution_id": record.step_execution_id,
                    "tool": record.tool,
                    "connection": record.connection,
                    "call_id": record.call_id,
                    "text": record.text,
                },
            ),
        )
        if record.outcome is OutcomeKind.OUTCOME_UNKNOWN
        else ()
    )
    return Transition(moved.with_due(StepType.RESUME_TURN), calls=(record,), events=(*events, *loud))


def _record(
    context: StepContext,
    state: SessionState,
    call: PendingCall,
    outcome: ToolOutcome,
    *,
    call_id: str | None,
    attempts: int,
) -> CallRecord:
    return call_record(
        state,
        call,
        outcome,
        step_execution_id=context.step.id,
        started_at=context.started_at,
        call_id=call_id,
        attempts=attempts,
    )
