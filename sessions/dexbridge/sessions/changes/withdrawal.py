"""A call that is not made: how it is recorded, and how a waiting one is taken back."""

from __future__ import annotations

from datetime import datetime

from dexbridge.sessions.changes.left_out import drop_prompt
from dexbridge.sessions.changes.turns import end_turn
from dexbridge.sessions.state.call import CallRecord, CallResult, PendingCall
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.message import LeftOut
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.transition import Transition
from dexbridge.toolsource import OutcomeKind, ToolOutcome

__all__ = [
    "call_record",
    "cancelled",
    "result_of",
    "settled_event",
    "stop_at_limit",
    "stop_turn",
    "superseded",
    "withdraw",
]


def call_record(
    state: SessionState,
    call: PendingCall,
    outcome: ToolOutcome,
    *,
    step_execution_id: str,
    started_at: datetime,
    call_id: str | None = None,
    attempts: int = 0,
) -> CallRecord:
    """The record of a call that has ended now."""
    decision = state.decision
    if decision is not None and decision.fingerprint != call.fingerprint:
        decision = None  # it is not about this call
    return CallRecord(
        step_execution_id=step_execution_id,
        tool_use_id=call.tool_use_id,
        tool=call.tool,
        connection=call.connection,
        arguments=call.arguments,
        fingerprint=call.fingerprint,
        turn=state.turn,
        outcome=outcome.kind,
        text=outcome.text,
        call_id=call_id,
        attempts=attempts,
        receipt=None if outcome.receipt is None else dict(outcome.receipt),
        found_by="reconciliation" if outcome.reconciled else "answer",
        decision=None if decision is None else "approved" if decision.approved else "rejected",
        decided_by=None if decision is None else decision.decided_by,
        decided_at=None if decision is None else decision.decided_at,
        started_at=started_at,
        ended_at=now(),
    )


def result_of(record: CallRecord) -> CallResult:
    """What the model gets of a record."""
    return CallResult(
        tool_use_id=record.tool_use_id,
        tool=record.tool,
        text=record.text,
        is_error=record.outcome is not OutcomeKind.SUCCEEDED,
    )


def cancelled(call: PendingCall) -> ToolOutcome:
    """The outcome of a call whose turn was cancelled before it was made."""
    return ToolOutcome(
        OutcomeKind.CANCELLED, f"The user cancelled the turn before {call.tool} was called; it was not made."
    )


def superseded(call: PendingCall) -> ToolOutcome:
    """The outcome of a call that had not been made yet when the user said something else."""
    return ToolOutcome(
        OutcomeKind.CANCELLED,
        f"{call.tool} was not called: the user wrote a new message first. Read it, then decide again.",
    )


def withdraw(state: SessionState, outcome: ToolOutcome) -> tuple[SessionState, tuple[CallRecord, ...]]:
    """Takes the pending call back; its result is kept for the model. Nothing happens without a pending call."""
    call = state.call
    if call is None:
        return state, ()
    assert state.due is not None, "a pending call belongs to a Step that is due"
    opened_at = now() if state.interrupt is None else state.interrupt.opened_at
    record = call_record(state, call, outcome, step_execution_id=state.due.id, started_at=opened_at)
    taken = state.model_copy(update={"call": None, "interrupt": None, "decision": None, "result": result_of(record)})
    return taken, (record,)


def over_limit(call: PendingCall) -> ToolOutcome:
    """The outcome of a call whose session has come to its state limit."""
    return ToolOutcome(
        OutcomeKind.CANCELLED, f"The session came to its state limit before {call.tool} was called; it was not made."
    )


def stop_at_limit(state: SessionState, *events: NewEvent) -> Transition:
    """The turn ends because the session has come to its state limit, and the session with it."""
    calls: tuple[CallRecord, ...] = ()
    if state.call is not None:
        state, calls = withdraw(state, over_limit(state.call))
    failed = NewEvent(kind=EventKind.TURN_FAILED, data={"turn": state.turn, "error": state.ending})
    over = end_turn(state, *events, failed)
    return Transition(over.state, over.messages, over.transcript, calls, over.events)


def stop_turn(state: SessionState, *events: NewEvent) -> Transition:
    """The turn ends because it was cancelled; a call that was not made is recorded as cancelled.

    The messages the model has not seen in a committed segment are dropped with the turn: it must not act on them later.
    """
    calls: tuple[CallRecord, ...] = ()
    if state.call is not None:
        state, calls = withdraw(state, cancelled(state.call))
    stopped = NewEvent(kind=EventKind.TURN_CANCELLED, data={"turn": state.turn})
    if not state.prompt:
        over = end_turn(state, *events, stopped)
        return Transition(over.state, over.messages, over.transcript, calls, over.events)
    dropped = drop_prompt(state, LeftOut.CANCELLED)
    over = end_turn(dropped.state, *events, *dropped.events, stopped, messages=dropped.messages)
    return Transition(over.state, over.messages, over.transcript, calls, over.events)


def settled_event(record: CallRecord) -> NewEvent:
    """An unknown outcome became known."""
    return NewEvent(
        kind=EventKind.OUTCOME_SETTLED,
        data={
            "step_execution_id": record.step_execution_id,
            "call_id": record.call_id,
            "outcome": record.outcome.value,
            "settled_by": record.settled_by,
            "settled_person": record.settled_person,
            "note": record.note,
        },
    )
