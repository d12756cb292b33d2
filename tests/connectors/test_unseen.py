"""What counts as blank, and what a reader cannot see."""

from __future__ import annotations

import unicodedata

import pytest

from dexbridge.connectors import is_blank, is_unseen

INVISIBLE = (
    *("\u00ad", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u180b", "\u180e", "\u200b", "\u200c", "\u200d"),
    *("\u200e", "\u202e", "\u2028", "\u2060", "\u2061", "\u2066", "\u2800", "\u3164", "\ufe00", "\ufe0f", "\ufeff"),
    *("\uffa0", "\ufffc", "\U00013441", "\U00016fe4", "\U0001d159", "\U0001d173", "\U000e0001", "\U000e0041"),
    *("\U000e0100", "\x00", "\x1b", "\x85"),
)
"""Characters that leave no ink, one at least of every kind."""


@pytest.mark.parametrize("character", INVISIBLE, ids=ascii)
def test_a_text_of_invisible_characters_alone_is_blank(character: str) -> None:
    assert is_unseen(character)
    assert is_blank(character)
    assert is_blank(f" {character}\n{character} ")
    assert not is_blank(f"{character}a")


def test_blanks_and_line_ends_are_blank_and_a_space_is_seen() -> None:
    assert all(is_blank(text) for text in ("", " ", "\n\t", "\u00a0\u3000"))
    assert not is_unseen(" ")
    assert all(is_unseen(one) for one in "\u00a0\u3000\u2003\n\t")


@pytest.mark.parametrize("text", ["a", "0", ".", "é", "ש", "सि", "한", "😀", "\u0301", "\u2801"])
def test_what_has_ink_is_not_blank(text: str) -> None:
    assert not is_blank(text)
    assert not is_unseen(text[-1])


def test_every_format_character_and_every_space_this_python_knows_is_unseen() -> None:
    known = [chr(one) for one in range(0x110000)]
    hidden = [one for one in known if one != " " and unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp", "Zs")]
    assert len(hidden) > 200
    assert all(is_unseen(one) and is_blank(one) for one in hidden)
