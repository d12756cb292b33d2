"""A tool call that left the agent's process, from the model's wish to the recorded result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import model_validator

from dexbridge.sessions.state.persisted import Instant, Persisted
from dexbridge.toolsource import OutcomeKind

__all__ = ["CallRecord", "CallResult", "PendingCall", "ToolWish"]


class ToolWish(Persisted):
    """What the model asked for when the segment ended: one tool call, not yet checked."""

    tool_use_id: str
    tool: str
    arguments: dict[str, Any]


class PendingCall(Persisted):
    """A checked call on its way through the Steps.

    Attributes:
        tool_use_id: The model's ID of the call; its result is bound to it.
        tool: The tool's own name.
        connection: `slack/support-slack`; `None` for a function of the application.
        arguments: Validated and canonical; what is shown, approved and sent.
        fingerprint: SHA-256 of the canonical arguments; an approval holds for it alone.
        asked: Whether the call had to be approved by a person.
    """

    tool_use_id: str
    tool: str
    connection: str | None
    arguments: dict[str, Any]
    fingerprint: str
    asked: bool


class CallResult(Persisted):
    """A recorded result the model has yet to get; bound to one tool-use ID."""

    tool_use_id: str
    tool: str
    text: str
    is_error: bool


class CallRecord(Persisted):
    """What became of a call, for people. Kept for good.

    Attributes:
        step_execution_id: The tool Step, or the Step that ended the call without one (a rejection).
        call_id: Identity of the Connector call; `None` when no tool Step ran, and for functions of the application.
        attempts: Requests that may have left.
        receipt: The provider's proof.
        decision: What a person said to this call; `None` when nobody decided: none was asked, or the call was taken
            back first. A call that was approved may still not have been made; that is its outcome.
        decided_by, decided_at: Who decided, as whoever took the decision named them, and when.
        found_by: Whether the outcome is the answer of the call itself, or was looked up afterwards.
        settled_by: How an unknown outcome was settled later: by the provider's late answer, or by a person.
        settled_person, settled_at, note: Who settled it, when, and what they noted.
    """

    step_execution_id: str
    tool_use_id: str
    tool: str
    connection: str | None
    arguments: dict[str, Any]
    fingerprint: str
    turn: int
    outcome: OutcomeKind
    text: str
    call_id: str | None = None
    attempts: int = 0
    receipt: dict[str, Any] | None = None
    decision: Literal["approved", "rejected"] | None = None
    decided_by: str | None = None
    decided_at: Instant | None = None
    started_at: Instant
    ended_at: Instant
    found_by: Literal["answer", "reconciliation"] = "answer"
    settled_by: Literal["provider", "person"] | None = None
    settled_person: str | None = None
    settled_at: Instant | None = None
    note: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_approved_by(cls, given: Any) -> Any:
        """Reads what was stored before a decision had its own members: `approved_by` named also who rejected."""
        if not isinstance(given, Mapping) or "approved_by" not in given:
            return cast("object", given)
        stored = dict(cast("Mapping[str, Any]", given))
        by = stored.pop("approved_by")
        if stored.get("outcome") == OutcomeKind.REJECTED:
            return {**stored, "decision": "rejected", "decided_by": by}
        return stored if by is None else {**stored, "decision": "approved", "decided_by": by}
