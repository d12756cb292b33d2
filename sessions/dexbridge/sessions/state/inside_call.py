"""A tool call that runs inside a segment: no Step of its own, so no record, but an event, committed before it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.text import storable_text

__all__ = ["InsideCall", "inside_call_began"]

_LONGEST_ARGUMENTS = 300
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class InsideCall:
    """A call that the agent framework is about to run by itself.

    Attributes:
        tool: The framework's name of the tool; the tool's own name when the session offers it.
        tool_use_id: The model's ID of the call.
        arguments: As the model gave them.
        by_subagent: Whether a subagent asked for it.
    """

    tool: str
    tool_use_id: str
    arguments: Mapping[str, Any]
    by_subagent: bool = False


def inside_call_began(state: SessionState, attempt: int, call: InsideCall) -> NewEvent:
    """The event of the call; it is kept when its segment fails, since what the call did stays done.

    Args:
        state: The state its Step started from.
        attempt: The attempt of the segment, from 1 in each run of the Step.
        call: Its arguments are kept as JSON text, at most 300 characters of it.
    """
    assert state.due is not None, "a call runs inside a Step"
    return NewEvent(
        kind=EventKind.INSIDE_CALL_BEGAN,
        data={
            "turn": state.turn,
            "step_execution_id": state.due.id,
            # An engine may leave the first run uncounted.
            "run": max(state.runs, 1),
            "segment_attempt": attempt,
            "tool": _shortened(call.tool, _LONGEST_NAME),
            "tool_use_id": _shortened(call.tool_use_id, _LONGEST_NAME),
            "arguments": _shortened(_as_text(call.arguments), _LONGEST_ARGUMENTS),
            "by_subagent": call.by_subagent,
        },
    )


def _as_text(arguments: Mapping[str, Any]) -> str:
    return json.dumps(dict(arguments), ensure_ascii=False, default=str)


def _shortened(text: str, longest: int) -> str:
    return storable_text(text if len(text) <= longest else f"{text[: longest - 1]}…")
