"""Tool results as the CLI can take them: text, bounded, well-formed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dexbridge.sessions import CallResult

if TYPE_CHECKING:  # The test kit compares results too, and needs no Claude SDK.
    from claude_agent_sdk import ToolResultBlock

__all__ = [
    "LONGEST_RESULT",
    "WrongResult",
    "bounded",
    "checked_result",
    "is_told",
    "text_of",
    "told_text",
    "trimmed",
    "well_formed",
]

LONGEST_RESULT = 20_000
"""Characters. Beyond about 50,000, or 25,000 tokens, the CLI writes a result to a file the agent cannot read."""

_LINE = 100
_COMPARED = 500
_JAVASCRIPT_SPACE = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


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


class WrongResult(Exception):
    """A function of the application returned what is no tool result; the text names the tool and the shape."""


def checked_result(tool: str, returned: object) -> Mapping[str, Any]:
    """Returns what a tool function returned when it is the result of a tool, as the SDK documents it.

    That is a mapping with `content`, a list of blocks, each a mapping with its `type`, and with `text` when that is
    "text"; and with `is_error`, True or False, or without it. Nothing else is guessed at: text would be lost, or a
    failure taken for a success.

    Raises:
        WrongResult: It is not; no value of it is in the text.
    """
    if (fault := _fault_of(returned)) is None:
        return cast("Mapping[str, Any]", returned)
    raise WrongResult(
        f"{tool} returned {fault}. Its function must return {{'content': [{{'type': 'text', 'text': …}}]}}, with "
        "'is_error': True for a failure"
    )


def _fault_of(returned: object) -> str | None:
    if not isinstance(returned, Mapping):
        return _kind(returned)
    result = cast("Mapping[str, Any]", returned)
    if "content" not in result:
        return "a mapping without 'content'"
    blocks = result["content"]
    if not isinstance(blocks, list | tuple):
        return f"a mapping whose 'content' is {_kind(blocks)}, not a list"
    for number, block in enumerate(cast("Sequence[object]", blocks)):
        if not isinstance(block, Mapping):
            return f"'content' whose item {number} is {_kind(block)}, not a mapping"
        known = cast("Mapping[str, Any]", block)
        if not isinstance(known.get("type"), str):
            return f"'content' whose item {number} has no 'type'"
        if known["type"] == "text" and not isinstance(known.get("text"), str):
            return f"'content' whose item {number} is of type text, and its 'text' is {_kind(known.get('text'))}"
    if "isError" in result:
        return "a mapping with 'isError', which is written 'is_error' here"
    if not isinstance(result.get("is_error", False), bool):
        return f"a mapping whose 'is_error' is {_kind(result['is_error'])}, not True or False"
    return None


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def trimmed(text: str) -> str:
    """Returns the text as the CLI trims an error: it is JavaScript, where U+FEFF is space and U+0085 is not."""
    return text.strip(_JAVASCRIPT_SPACE)


def text_of(result: Mapping[str, Any]) -> str:
    """The text of a tool function's checked result; what is not text is named and left out.

    Source: seeds, "Limits": a recorded tool result keeps text only.
    """
    blocks = cast("Sequence[Mapping[str, Any]]", result["content"])
    return bounded(
        "\n".join(
            block["text"] if block["type"] == "text" else f"[{block['type']} left out: results keep text only]"
            for block in blocks
        )
    )


def told_text(result: CallResult) -> str:
    """What the model is told of a recorded call."""
    return bounded(result.text)


def is_told(recorded: CallResult, told: ToolResultBlock) -> bool:
    """Whether what the model is told of a call is what was recorded.

    The CLI trims errors, cuts long ones in the middle, and has words of its own for an empty text.
    """
    blocks = told.content if isinstance(told.content, list) else [{"type": "text", "text": told.content or ""}]
    text = trimmed("\n".join(str(block.get("text", "")) for block in blocks))
    begins = trimmed(well_formed(recorded.text))[:_COMPARED]
    return (told.is_error is True) == recorded.is_error and (not begins or text.startswith(begins))
