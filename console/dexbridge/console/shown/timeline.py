"""The Steps of a session, and what ran inside them, as lines for a person, from its log and its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from dexbridge.console.shown.text import shortened
from dexbridge.console.shown.wording import call_title, message_link, outcome_label, settler
from dexbridge.sessions import CallRecord, EventKind, SessionEvent, SessionSnapshot, StepType
from dexbridge.toolsource import OutcomeKind

__all__ = ["StepLine", "timeline"]

_TOOL_STEPS: Final = (StepType.CALL_TOOL.value, StepType.CALL_SINGLE_ATTEMPT_TOOL.value)


@dataclass(frozen=True, slots=True)
class StepLine:
    """One Step, or one call that ran inside one.

    Attributes:
        step_id: `CallSingleAttemptTool-1`.
        title: What it did, in words.
        state: `done`, `failed`, `unknown`, `rejected`, `cancelled`, `running`, `waiting` or `inside`; the line's
            colour.
        label: The state in words.
        attempts: How often it tried; `None` where that means nothing.
        duration: `12 ms`; empty while it is not over.
        receipt: Name and value of the provider's proof.
        link: Address of what it made.
        note: More to say: an error, a reason, who settled it.
    """

    step_id: str
    turn: int
    title: str
    state: str
    label: str
    attempts: int | None = None
    duration: str = ""
    call_id: str | None = None
    receipt: tuple[tuple[str, str], ...] = ()
    link: str | None = None
    note: str = ""


def timeline(
    snapshot: SessionSnapshot, events: Sequence[SessionEvent], workspaces: Mapping[str, str]
) -> tuple[StepLine, ...]:
    """The lines, oldest first; the Step that is due comes last."""
    calls = {call.step_execution_id: call for call in snapshot.calls}
    lines: list[StepLine] = []
    for event in events:
        if event.kind is EventKind.STEP_COMPLETED:
            lines.append(_line(event.data, calls.get(str(event.data["step_execution_id"])), workspaces))
        elif event.kind is EventKind.INSIDE_CALL_BEGAN:
            lines.append(_inside_line(event))
    state = snapshot.state
    if state.due is not None:
        waiting = state.interrupt is not None and state.decision is None
        lines.append(
            StepLine(
                step_id=state.due.id,
                turn=state.turn,
                title=_due_title(snapshot),
                state="waiting" if waiting else "running",
                label="waits for a person" if waiting else "running",
            )
        )
    return tuple(lines)


def _line(data: Mapping[str, Any], call: CallRecord | None, workspaces: Mapping[str, str]) -> StepLine:
    step = str(data["step"])
    attempts = data.get("segment_attempts")
    line = StepLine(
        step_id=str(data["step_execution_id"]),
        turn=int(data["turn"]),
        title=_title(step, data),
        state="done",
        label="done",
        attempts=attempts if isinstance(attempts, int) else None,
        duration=_duration(float(data["duration_ms"])),
    )
    if data.get("error"):
        return replace(line, state="failed", label="failed", note=str(data["error"]))
    if call is not None and step in _TOOL_STEPS:
        return _call_line(line, call, workspaces)
    if step == StepType.AWAIT_TOOL_APPROVAL.value:
        return _approval_line(line, data, call)
    if data.get("ended") == "asks":
        return replace(line, label="not called: it must be approved first")
    return line


def _inside_line(event: SessionEvent) -> StepLine:
    """A call the CLI ran by itself. It comes before its Step's own line, and again when its segment was run again."""
    data = event.data
    by = "a subagent" if data.get("by_subagent") else "the agent"
    return StepLine(
        step_id=str(data["step_execution_id"]),
        turn=int(data["turn"]),
        title=f"Inside · {shortened(data.get('tool'), 60)}",
        state="inside",
        label=f"begun by {by} in attempt {data.get('segment_attempt')}, {_moment(event.at.isoformat())}",
        note=shortened(data.get("arguments"), 300),
    )


def _approval_line(line: StepLine, data: Mapping[str, Any], call: CallRecord | None) -> StepLine:
    line = replace(line, title=f"Approval of {data.get('tool')}")
    if call is None:
        # Approved, and made in a Step of its own.
        approved = f"approved by {data.get('decided_by') or 'a person'}"
        return replace(line, label=approved if data.get("approved") is True else "over")
    label = outcome_label(call.outcome.value)
    if call.decision == "rejected":
        label = f"rejected by {call.decided_by or 'a person'}"
    elif call.decision == "approved":
        label = f"approved by {call.decided_by or 'a person'}, then {label}"
    return replace(line, state=call.outcome.value, label=label, note=call.text)


def _call_line(line: StepLine, call: CallRecord, workspaces: Mapping[str, str]) -> StepLine:
    state = {OutcomeKind.SUCCEEDED: "done", OutcomeKind.OUTCOME_UNKNOWN: "unknown"}.get(
        call.outcome, call.outcome.value
    )
    label, note = outcome_label(call.outcome.value), "" if state == "done" else call.text
    if call.settled_by is not None:
        sent = "it was sent" if call.outcome is OutcomeKind.SUCCEEDED else "it was not sent"
        who = settler(call)
        label = f"{label}, settled by {who}"
        note = f"The outcome was unknown; {who} says {sent}.{f' {call.note}' if call.note else ''}"
    return replace(
        line,
        title=call_title(call.tool, call.connection, call.arguments),
        state=state,
        label=label,
        attempts=call.attempts,
        call_id=call.call_id,
        receipt=_receipt(call.receipt),
        link=message_link(call, workspaces),
        note=note,
    )


def _title(step: str, data: Mapping[str, Any]) -> str:
    if step == StepType.RUN_MODEL.value:
        match data.get("ended"):
            case "answered":
                return "Model · answers"
            case "call_left":
                return f"Model · asks for {shortened(data.get('tool'), 60)}"
            case _:
                return "Model"
    if step == StepType.RESUME_TURN.value:
        return "Back to the model with the result"
    return shortened(data.get("tool") or step, 60)


def _due_title(snapshot: SessionSnapshot) -> str:
    state = snapshot.state
    assert state.due is not None
    call = state.call
    if call is not None and state.due.type is StepType.AWAIT_TOOL_APPROVAL:
        return f"Approval of {call.tool}"
    if call is not None and state.due.type.value in _TOOL_STEPS:
        return call_title(call.tool, call.connection, call.arguments)
    return _title(state.due.type.value, {})


def _receipt(receipt: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    if receipt is None:
        return ()
    shown = [("provider", "provider"), ("object", "provider_object_id"), ("request", "provider_request_id")]
    lines = [(label, shortened(receipt[name], 120)) for label, name in shown if receipt.get(name)]
    if receipt.get("observed_at"):
        lines.append(("seen at", _moment(receipt["observed_at"])))
    return tuple(lines)


def _moment(observed: object) -> str:
    try:
        return f"{datetime.fromisoformat(str(observed)).astimezone(UTC):%d %b %H:%M:%S} UTC"
    except (ValueError, OverflowError):
        return shortened(observed, 40)


def _duration(milliseconds: float) -> str:
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1_000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1_000), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"
