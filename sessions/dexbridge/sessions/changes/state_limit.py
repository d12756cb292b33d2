"""A session's state is bounded: it is warned of, and then the session ends cleanly."""

from __future__ import annotations

from dexbridge.sessions.flow import SessionLimits
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.session import SessionState

__all__ = ["weigh"]

_WARN_AT = 0.8


def weigh(state: SessionState, limits: SessionLimits) -> tuple[SessionState, tuple[NewEvent, ...]]:
    """Looks at the transcript's size after a segment was added to it.

    Over the limit the session ends with this turn: a call that was asked for is not made, and what was said is kept.
    At 80 % of the limit an event says so, once.

    Source: seeds, "Limits": a long session ends at the state limit, 64 MiB by default.
    """
    size = state.transcript_bytes
    if size > limits.state_bytes:
        reason = (
            f"The session's transcript has {size} bytes, over the limit of {limits.state_bytes}: start another session."
        )
        return state.model_copy(update={"ending": reason, "last_error": reason}), ()
    if size > limits.state_bytes * _WARN_AT and not state.warned:
        near = NewEvent(
            kind=EventKind.STATE_LIMIT_NEAR, data={"transcript_bytes": size, "state_bytes": limits.state_bytes}
        )
        return state.model_copy(update={"warned": True}), (near,)
    return state, ()
