"""Characters that a word processor, a chat or a web page puts in the place of those that were typed."""

from __future__ import annotations

import unicodedata
from typing import Final

_QUOTES: Final = frozenset("\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\u2033\u2032\uff02")


def typed_wrong(text: str, at: int) -> tuple[str, str] | None:
    """Message and mend when such a character is what a parser stumbles over.

    Args:
        text: of the file.
        at: where the parser stopped; a quote that does not close its string is before it, on the same line.
    """
    found = text[at : at + 1]
    line = text[text.rfind("\n", 0, at) + 1 : at + 1]
    if found in _QUOTES or (found in ("", "\n", "\r") and not _QUOTES.isdisjoint(line)):
        return (
            "There is a typographic quotation mark here.",
            'Write a straight one (") in its place, here and wherever else the file has one.',
        )
    if found and not found.isascii() and (found.isspace() or unicodedata.category(found) == "Cf"):
        return (
            "There is a character here that only looks like a space, or like nothing.",
            "Write a plain space in its place.",
        )
    return None
