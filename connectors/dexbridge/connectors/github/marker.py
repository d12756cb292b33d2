"""The hidden line by which a comment is found again: an HTML comment that carries the Call ID.

It stands at the very end, so that notifications and previews show the text first. Text of the model cannot pass for it:
whatever it holds, a comment of ours ends with our own marker. A code fence left open would show the line as text, so
there it stands at the very beginning; comments of earlier versions carry it there too.
"""

from __future__ import annotations

import re
from typing import Final

_LINE: Final = r"<!-- dexbridge-call: ([0-9a-f-]{36}) -->"
_ANYWHERE: Final = re.compile(_LINE)
_AT_END: Final = re.compile(rf"\r?\n\r?\n{_LINE}\s*\Z")
_AT_START: Final = re.compile(rf"{_LINE}\r?\n\r?\n")
_FENCE: Final = re.compile(r"(?m)^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$")
"""A line that opens or closes a code fence, in quotes and lists too."""


def mark(body: str, call_id: str) -> str:
    """The comment as it is sent."""
    line = f"<!-- dexbridge-call: {call_id} -->"
    if _leaves_a_fence_open(body) and _ANYWHERE.search(body) is None:
        return f"{line}\n\n{body}"
    return f"{body}\n\n{line}"


def call_id_of(body: str) -> str | None:
    """The Call ID a comment carries: in the line at its end, or in one at its beginning that is its only one."""
    found = _marker_of(body)
    return found[1] if found else None


def unmark(body: str) -> str:
    """The comment without its marker."""
    found = _marker_of(body)
    return body[: found.start()] + body[found.end() :] if found else body


def _marker_of(body: str) -> re.Match[str] | None:
    at_end = _AT_END.search(body)
    return at_end if at_end or len(_ANYWHERE.findall(body)) > 1 else _AT_START.match(body)


def _leaves_a_fence_open(body: str) -> bool:
    opened = ""
    for fence, rest in _FENCE.findall(body):
        if not opened:
            opened = "" if fence[0] == "`" and "`" in rest else fence
        elif fence[0] == opened[0] and len(fence) >= len(opened) and not rest.strip():
            opened = ""
    return bool(opened)
