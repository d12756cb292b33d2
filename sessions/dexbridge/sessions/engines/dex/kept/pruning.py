"""What goes when a session is pruned: everything but the ID."""

from __future__ import annotations

from datetime import datetime

import dex

from dexbridge.sessions.engines.dex.kept.schema import (
    ATTEMPTS,
    CALLS,
    EVENTS,
    MESSAGE_KEYS,
    MESSAGES,
    TRANSCRIPT,
    number,
)
from dexbridge.sessions.engines.dex.kept.stored import Envelope, decode
from dexbridge.sessions.engines.dex.kept.writing import attempt_key
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState, SessionStatus
from dexbridge.toolsource import OutcomeKind

__all__ = ["forget"]

_MOST_ATTEMPTS = 10


def forget(context: dex.Context, envelope: Envelope, older_than: str) -> Envelope | None:
    """Stages the deletion of a session's entries; returns what is left, or `None` when it is not to be pruned.

    One that holds an outcome nobody knows is not, however old it is; settling takes the same lock.
    """
    state = envelope.state
    at_rest = state.status in (SessionStatus.IDLE, SessionStatus.ENDED)
    if envelope.pruned or not at_rest or envelope.updated_at >= datetime.fromisoformat(older_than):
        return None
    calls = (decode(CallRecord, CALLS.get(context, step), state.session_id) for step in envelope.call_ids)
    if any(call.outcome is OutcomeKind.OUTCOME_UNKNOWN for call in calls):
        return None
    for sequence in range(1, state.message_count + 1):
        MESSAGES.delete(context, number(sequence))
    for sequence in range(1, state.event_count + 1):
        EVENTS.delete(context, number(sequence))
    for step in envelope.call_ids:
        CALLS.delete(context, step)
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            ATTEMPTS.delete(context, attempt_key(step, attempt))
    for segment in envelope.segments:
        for part in range(segment.parts):
            TRANSCRIPT.delete(context, f"{segment.token}.{part}")
    for key in MESSAGE_KEYS.get_all_instance_keys(context):
        MESSAGE_KEYS.delete(context, key)
    left = SessionState(
        session_id=state.session_id,
        flow_type=state.flow_type,
        conversation_id=state.conversation_id,
        created_at=state.created_at,
        status=SessionStatus.ENDED,
    )
    return Envelope(version=envelope.version + 1, token="", updated_at=now(), state=left, pruned=True)
