"""AwaitToolApproval: opens an interrupt, and later acts on a person's decision. Nothing runs in between."""

from __future__ import annotations

import uuid
from dataclasses import replace

from dexbridge.sessions.changes.withdrawal import stop_turn, superseded, withdraw
from dexbridge.sessions.state.call import PendingCall
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.interrupt import Decision, Interrupt
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState, SessionStatus
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Change, Transition
from dexbridge.sessions.steps.call_checks import tool_step
from dexbridge.sessions.steps.context import StepContext, completed
from dexbridge.sessions.steps.results import called
from dexbridge.sessions.steps.withheld import refused_before, with_masks
from dexbridge.toolsource import OutcomeKind, ToolOutcome

__all__ = ["await_tool_approval"]

_INTERRUPTS = uuid.UUID("0f0d1d1e-8f0c-5d53-9d0e-6f2b6c1b8a51")


async def await_tool_approval(context: StepContext) -> Change:
    """Opens the interrupt on the first run; acts on the decision on the second."""
    call = context.state.call
    assert call is not None, "AwaitToolApproval is due only with a call"
    decision = context.state.decision
    if decision is None:
        refused = await refused_before(context, call)
        if refused is None:
            return _open(context, call)
        recorded, anew = await with_masks(context, call)
        return called(context, recorded, refused, call_id=None, attempts=0, anew=anew)
    if context.state.interrupt is not None:
        # The Step took as long as the person did.
        context = replace(context, started_at=context.state.interrupt.opened_at)
    if decision.approved is True and decision.fingerprint == call.fingerprint:
        return _approved(context, call, decision)
    return called(context, call, _rejection(call, decision), call_id=None, attempts=0)


def _open(context: StepContext, call: PendingCall) -> Change:
    interrupt = Interrupt(
        interrupt_id=str(uuid.uuid5(_INTERRUPTS, f"{context.state.session_id}\n{context.step.id}")),
        step_execution_id=context.step.id,
        tool_use_id=call.tool_use_id,
        tool=call.tool,
        connection=call.connection,
        arguments=call.arguments,
        fingerprint=call.fingerprint,
        opened_at=now(),
    )

    def change(state: SessionState) -> Transition:
        if state.cancelling:
            return stop_turn(state)
        if state.steering:
            taken, calls = withdraw(state, superseded(call))
            return Transition(taken.with_due(StepType.RESUME_TURN), calls=calls)
        waiting = state.model_copy(update={"interrupt": interrupt, "status": SessionStatus.WAITING, "leg": None})
        opened = NewEvent(
            kind=EventKind.INTERRUPT_OPENED,
            data={
                "interrupt_id": interrupt.interrupt_id,
                "step_execution_id": context.step.id,
                "tool": call.tool,
                "connection": call.connection,
                "arguments": call.arguments,
            },
        )
        return Transition(waiting, events=(opened,))

    return change


def _approved(context: StepContext, call: PendingCall, decision: Decision) -> Change:
    tool = context.flow.tools.find(call.tool)
    if tool is None:
        gone = ToolOutcome(OutcomeKind.FAILED, f"The tool {call.tool!r} is no longer offered; the call was not made.")
        return called(context, call, gone, call_id=None, attempts=0)
    step = tool_step(tool)

    def change(state: SessionState) -> Transition:
        if state.cancelling:
            return stop_turn(state)
        if state.steering:
            # Approved, but then the user said something else, and the call has not been made.
            taken, calls = withdraw(state, superseded(call))
            ended = completed(context, tool=call.tool, approved=True, superseded=True)
            return Transition(taken.with_due(StepType.RESUME_TURN), calls=calls, events=(ended,))
        moved = state.model_copy(update={"interrupt": None}).with_due(step)
        event = completed(context, tool=call.tool, approved=True, decided_by=decision.decided_by)
        return Transition(moved, events=(event,))

    return change


def _rejection(call: PendingCall, decision: Decision) -> ToolOutcome:
    reason = (decision.rejection_message or "").strip()
    said = f" They said: {reason}" if reason else ""
    return ToolOutcome(OutcomeKind.REJECTED, f"A person rejected this call of {call.tool}; it was not made.{said}")
