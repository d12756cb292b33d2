"""Text from outside, as it may be shown: nothing in it can act, hide or reorder what stands beside it."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from markupsafe import Markup, escape

__all__ = ["exact", "exact_json", "plain", "shortened"]

_LAYOUT: Final = "\n\t"
# Characters that are not printable by themselves, and that languages and emoji need between others.
_JOINERS: Final = "\u200c\u200d"
_HALF: Final = re.compile(r"⟨(U(\+[0-9A-F]{0,6})?)?$")


def plain(text: object) -> str:
    """The text with control and direction characters written out; line ends, tabs and joiners stay."""
    return "".join(
        one if one.isprintable() or one in _LAYOUT or one in _JOINERS else f"⟨U+{ord(one):04X}⟩"
        for one in str(text).replace("\r\n", "\n")
    )


def exact(text: object) -> Markup:
    """The text with every character one cannot see marked: what a person approves must not look like another text."""
    shown: list[Markup] = []
    run: list[str] = []
    for one in str(text):
        # A space that is no space bar's looks like one, and isprintable() is false for it.
        if one.isprintable() or one in "\n":
            run.append(one)
            continue
        shown += [escape("".join(run)), Markup('<mark class="unseen">U+{:04X}</mark>').format(ord(one))]
        run.clear()
    return Markup("").join([*shown, escape("".join(run))])


def exact_json(value: Any) -> Markup:
    """A JSON value; a text as it is, everything else as JSON."""
    return exact(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))


def shortened(text: object, limit: int = 80) -> str:
    """The text's beginning on one line."""
    line = " ".join(plain(text).split())
    if len(line) <= limit:
        return line
    # Half of a character that was written out would say nothing.
    return f"{_HALF.sub('', line[: limit - 1]).rstrip()}…"
