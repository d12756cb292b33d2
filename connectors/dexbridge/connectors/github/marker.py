"""The hidden line by which a comment is found again: an HTML comment that carries the Call ID.

It stands at the very beginning. There no fence or comment left open in the text can swallow it, and text of the model
cannot pass for it: whatever it holds, a comment of ours begins with our own marker.
"""

from __future__ import annotations

import re
from typing import Final

_MARKER: Final = re.compile(r"<!-- dexbridge-call: ([0-9a-f-]{36}) -->\r?\n\r?\n")


def mark(body: str, call_id: str) -> str:
    """The comment as it is sent."""
    return f"<!-- dexbridge-call: {call_id} -->\n\n{body}"


def call_id_of(body: str) -> str | None:
    """The Call ID a comment carries."""
    found = _MARKER.match(body)
    return found[1] if found else None


def unmark(body: str) -> str:
    """The comment without its marker."""
    return _MARKER.sub("", body, count=1) if _MARKER.match(body) else body
