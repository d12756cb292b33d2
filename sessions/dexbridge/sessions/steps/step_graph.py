"""Which Step follows which: one table, checked whenever a Step ends, and drawn by `dexbridge graph`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dexbridge.sessions.state.step import StepType

__all__ = ["FOLLOWS", "graph_json", "graph_mermaid", "may_follow"]

_RUN_MODEL: Final = StepType.RUN_MODEL
_AWAIT: Final = StepType.AWAIT_TOOL_APPROVAL
_CALL: Final = StepType.CALL_TOOL
_ONCE: Final = StepType.CALL_SINGLE_ATTEMPT_TOOL
_RESUME: Final = StepType.RESUME_TURN
_OVER: Final = "the turn was cancelled"
_NEXT_MESSAGE: Final = "another message waits"
_ASKS_NOW: Final = "nothing was sent, and the tool asks since it was deployed anew"

FOLLOWS: Final[Mapping[StepType, Mapping[StepType | None, str]]] = {
    _RUN_MODEL: {
        None: "the model answered, or the turn failed or was cancelled",
        _RUN_MODEL: f"{_NEXT_MESSAGE}, the user steered the turn, or what was refused is left out",
        _AWAIT: "a call needs approval",
        _CALL: "a read, or a write that may be repeated",
        _ONCE: "a write that must not be repeated",
        _RESUME: "the call cannot be made as asked, or the user steered the turn",
    },
    _AWAIT: {
        _AWAIT: "waits for a person, as a row in the database",
        _CALL: "approved: a read, or a write that may be repeated",
        _ONCE: "approved: a write that must not be repeated",
        _RESUME: "rejected, or refused as an earlier call was, or the user steered the turn",
        _RUN_MODEL: f"{_OVER}, {_NEXT_MESSAGE}",
        None: _OVER,
    },
    _CALL: {_RESUME: "the outcome is recorded", _AWAIT: _ASKS_NOW},
    _ONCE: {_RESUME: "the outcome is recorded", _AWAIT: _ASKS_NOW},
    _RESUME: {_RUN_MODEL: "the model gets the recorded result", None: _OVER},
}
"""For each Step what may be due after it, and when. `None`: the turn is over."""


def may_follow(step: StepType, following: StepType | None) -> bool:
    """Whether the table has it."""
    return following in FOLLOWS[step]


def graph_json() -> dict[str, Any]:
    """The table as JSON: `steps`, and `edges` with `from`, `to` (`null`: the turn is over) and `when`."""
    return {
        "version": 1,
        "start": _RUN_MODEL.value,
        "steps": [step.value for step in FOLLOWS],
        "edges": [
            {"from": step.value, "to": None if following is None else following.value, "when": when}
            for step, edges in FOLLOWS.items()
            for following, when in edges.items()
        ],
    }


def graph_mermaid() -> str:
    """The table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {_RUN_MODEL.value}: a message"]
    for step, edges in FOLLOWS.items():
        for following, when in edges.items():
            target = "[*]" if following is None else following.value
            lines.append(f"    {step.value} --> {target}: {when.replace(':', ',')}")
    return "\n".join(lines) + "\n"
