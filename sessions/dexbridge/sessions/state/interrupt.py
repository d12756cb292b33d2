"""A durable wait for a person."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import StrictBool

from dexbridge.sessions.state.persisted import Instant, Persisted

__all__ = ["Decision", "Interrupt"]


class Interrupt(Persisted):
    """A call that waits for approval, exactly as it would be made.

    An approval holds for this session, tool, connection and fingerprint, and is used once
    (architecture decision 6).
    """

    interrupt_id: str
    kind: Literal["tool_approval"] = "tool_approval"
    step_execution_id: str
    tool_use_id: str
    tool: str
    connection: str | None
    arguments: dict[str, Any]
    fingerprint: str
    opened_at: Instant


class Decision(Persisted):
    """What a person said to an interrupt."""

    interrupt_id: str
    fingerprint: str
    approved: StrictBool
    rejection_message: str | None = None
    decided_by: str | None = None
    decided_at: Instant
