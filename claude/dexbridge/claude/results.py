"""Tool results as the CLI can take them: text, bounded, well-formed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

__all__ = ["LONGEST_RESULT", "bounded", "text_of", "well_formed"]

LONGEST_RESULT = 20_000
"""Characters. Beyond about 50,000, or 25,000 tokens, the CLI writes a result to a file the agent cannot read."""


def well_formed(text: str) -> str:
    """Returns the text with unpaired surrogates replaced by U+FFFD; they can be neither stored nor sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def bounded(text: str) -> str:
    """Returns the text without unpaired surrogates and, when it is too long, cut with a line that says so."""
    text = well_formed(text)
    if len(text) <= LONGEST_RESULT:
        return text
    return f"{text[:LONGEST_RESULT]}\n[{len(text) - LONGEST_RESULT} of {len(text)} characters left out here]"


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
