"""A commit, as the RPC that holds the session's lock writes it: entries, the new state, the Steps that follow."""

from __future__ import annotations

from collections.abc import Sequence

import dex

from dexbridge.sessions.engines.dex.kept.schema import (
    ATTEMPTS,
    CALLS,
    DECISIONS,
    EVENTS,
    MESSAGE_KEYS,
    MESSAGES,
    SESSION,
    TRANSCRIPT,
    number,
)
from dexbridge.sessions.engines.dex.kept.stored import Commit, Due, Envelope, Segment, encode
from dexbridge.sessions.engines.dex.step_options import SHORT, step_options
from dexbridge.sessions.engines.dex.steps import STEP_CLASSES
from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.state.event import SessionEvent
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState, SessionStatus
from dexbridge.sessions.state.step import StepExecution, StepType
from dexbridge.sessions.state.transition import Transition

__all__ = ["attempt_key", "commit_of", "write_commit", "write_parts"]


def commit_of(before: Envelope, transition: Transition, token: str, segment: Segment | None = None) -> Commit:
    """The commit of a transition that was made from that state."""
    at = now()
    state = transition.state.model_copy(
        update={
            "message_count": before.state.message_count + len(transition.messages),
            "event_count": before.state.event_count + len(transition.events),
        }
    )
    events = tuple(
        SessionEvent(sequence=sequence, at=at, kind=event.kind, data=event.data)
        for sequence, event in enumerate(transition.events, before.state.event_count + 1)
    )
    return Commit(
        expected=before.version,
        token=token,
        state=state,
        messages=transition.messages,
        calls=transition.calls,
        events=events,
        segment=segment,
    )


def write_commit(
    context: dex.Context, flow: AgentSessionFlow, before: Envelope, commit: Commit
) -> tuple[dex.StepMovement[str], ...]:
    """Stages the commit in an RPC and returns the movements that go with it."""
    after = commit.state
    for sequence, message in enumerate(commit.messages, before.state.message_count + 1):
        MESSAGES.set(context, number(sequence), encode(message))
    for event in commit.events:
        EVENTS.set(context, number(event.sequence), encode(event))
    for call in commit.calls:
        CALLS.set(context, call.step_execution_id, encode(call))
    for attempt in commit.attempts:
        ATTEMPTS.set(context, attempt_key(attempt.step_execution_id, attempt.number), encode(attempt))
    if commit.once is not None:
        MESSAGE_KEYS.set(context, commit.once.key, commit.once.digest)
    if commit.segment is not None:
        write_parts(context, commit.segment.token, 0, commit.parts)
    new_calls = tuple(call.step_execution_id for call in commit.calls if call.step_execution_id not in before.call_ids)
    envelope = Envelope(
        version=before.version + 1,
        token=commit.token,
        updated_at=now(),
        state=after,
        call_ids=(*before.call_ids, *new_calls),
        segments=before.segments if commit.segment is None else (*before.segments, commit.segment),
    )
    SESSION.set(context, encode(envelope))
    _wake(context, before.state, after)
    return _movements(flow, before.state, after)


def write_parts(context: dex.Context, token: str, first: int, parts: Sequence[str]) -> None:
    """Stages pieces of a transcript. They count only once a commit names their token."""
    for place, part in enumerate(parts, first):
        TRANSCRIPT.set(context, f"{token}.{place}", part)


def attempt_key(step_execution_id: str, attempt: int) -> str:
    """The key of a row of the attempt ledger."""
    return f"{step_execution_id}.{attempt}"


def _wake(context: dex.Context, before: SessionState, after: SessionState) -> None:
    """An AwaitToolApproval waits no longer: it was decided, or its call was taken back."""
    waited = before.due if before.status is SessionStatus.WAITING else None
    if waited is not None and (after.due != waited or after.status is not SessionStatus.WAITING):
        DECISIONS.publish(context, waited.id, encode(Due(step=waited.id, void=after.due != waited)))


def _movements(flow: AgentSessionFlow, before: SessionState, after: SessionState) -> tuple[dex.StepMovement[str], ...]:
    """A movement for every execution the session has counted, so that Dex numbers them alike.

    One that was counted and is not due any more (a call taken back in the same commit) passes as void.
    """
    movements: list[dex.StepMovement[str]] = []
    for step in StepType:
        for count in range(before.step_counts.get(step, 0) + 1, after.step_counts.get(step, 0) + 1):
            execution = StepExecution(type=step, number=count)
            void = execution != after.due
            options = SHORT if void else step_options(flow, after, step)
            due = encode(Due(step=execution.id, void=void))
            movements.append(dex.StepMovement(STEP_CLASSES[step.value], due, options))
    return tuple(movements)
