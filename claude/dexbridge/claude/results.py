"""Tool results as the CLI can take them: text, bounded, well-formed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from claude_agent_sdk import ToolResultBlock

from dexbridge.sessions import CallResult

__all__ = ["LONGEST_RESULT", "bounded", "is_told", "text_of", "told_text", "well_formed"]

LONGEST_RESULT = 20_000
"""Characters. Beyond about 50,000, or 25,000 tokens, the CLI writes a result to a file the agent cannot read."""

_LINE = 100
_COMPARED = 500


def well_formed(text: str) -> str:
    """Returns the text with unpaired surrogates replaced by U+FFFD; they can be neither stored nor sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def bounded(text: str) -> str:
    """Returns the text without unpaired surrogates and, when it is too long, cut with a line that says so."""
    text = well_formed(text)
    if len(text) <= LONGEST_RESULT:
        return text
    # With its line it is short enough to pass here again as it is: a recorded result does.
    kept = LONGEST_RESULT - _LINE
    return f"{text[:kept]}\n[{len(text) - kept} of {len(text)} characters left out here]"


def text_of(result: Mapping[str, Any]) -> str:
    """The text of what a tool function returned; what is not text is named and left out.

    Source: seeds, "Limits": a recorded tool result keeps text only.
    """
    blocks = cast("Sequence[Any]", result.get("content") or ())
    parts: list[str] = []
    for block in blocks:
        if isinstance(block, Mapping):
            known = cast("Mapping[str, Any]", block)
            if known.get("type") == "text":
                parts.append(str(known.get("text", "")))
            else:
                parts.append(f"[{known.get('type', 'unknown')} left out: results keep text only]")
    return bounded("\n".join(parts))


def told_text(result: CallResult) -> str:
    """What the model is told of a recorded call."""
    return bounded(result.text)


def is_told(recorded: CallResult, told: ToolResultBlock) -> bool:
    """Whether what the model is told of a call is what was recorded.

    The CLI trims errors, cuts long ones in the middle, and has words of its own for an empty text.
    """
    blocks = told.content if isinstance(told.content, list) else [{"type": "text", "text": told.content or ""}]
    text = "\n".join(str(block.get("text", "")) for block in blocks).strip()
    begins = well_formed(recorded.text).strip()[:_COMPARED]
    return (told.is_error is True) == recorded.is_error and (not begins or text.startswith(begins))
