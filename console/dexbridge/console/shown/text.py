"""Text from outside, as it may be shown: nothing in it can act, hide or reorder what stands beside it."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from markupsafe import Markup, escape

from dexbridge.connectors import is_unseen

__all__ = ["exact", "exact_json", "exact_plain", "plain", "shortened"]

_LAYOUT: Final = "\n\t"
# What languages and emoji need between and behind others: joiners, and the choice of a glyph's form.
_JOINING: Final = "\u200c\u200d\ufe0e\ufe0f"
_HALF: Final = re.compile(r"⟨(U(\+[0-9A-F]{0,6})?)?$")


def plain(text: object) -> str:
    """The text of a conversation, with what one cannot see written out; line ends, tabs and joiners stay."""
    return "".join(
        _written_out(one) if is_unseen(one) and one not in _LAYOUT and one not in _JOINING else one
        for one in str(text).replace("\r\n", "\n")
    )


def exact_plain(text: object) -> str:
    """The text of a call with every character one cannot see written out, joiners too; line ends stay.

    A text that holds such writing itself reads differently: its opening bracket is written out.
    """
    return "".join(_written_out(one) if one == "⟨" or (is_unseen(one) and one != "\n") else one for one in str(text))


def exact(text: object) -> Markup:
    """As `exact_plain`, for a page: what a person approves must not look like another text."""
    shown: list[Markup] = []
    run: list[str] = []
    for one in str(text):
        if one == "\n" or not is_unseen(one):
            run.append(one)
            continue
        shown += [escape("".join(run)), Markup('<mark class="unseen">U+{:04X}</mark>').format(ord(one))]
        run.clear()
    return Markup("").join([*shown, escape("".join(run))])


def exact_json(value: Any) -> Markup:
    """A JSON value; a text as it is, everything else as JSON."""
    return exact(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))


def shortened(text: object, limit: int = 80, *, exactly: bool = False) -> str:
    """The text's beginning on one line.

    Args:
        text: Any.
        limit: Characters.
        exactly: Written out as by `exact_plain`, for what a call would send; else as by `plain`.
    """
    line = " ".join((exact_plain if exactly else plain)(text).split())
    if len(line) <= limit:
        return line
    # Half of a character that was written out would say nothing.
    return f"{_HALF.sub('', line[: limit - 1]).rstrip()}…"


def _written_out(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"
