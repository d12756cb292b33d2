"""Text as it is shown on one line."""

from __future__ import annotations

import pytest

from dexbridge.console.shown.text import shortened


@pytest.mark.parametrize("limit", range(6, 16))
def test_a_character_that_is_written_out_is_never_cut_in_half(limit: int) -> None:
    shown = shortened("abcde\x1b\u202efghij", limit)
    assert len(shown) <= limit
    assert shown in {"abcde…", "abcde⟨U+001B⟩…"}


def test_what_fits_is_left_as_it_is() -> None:
    assert shortened("a  b\nc ⟨U", 10) == "a b c ⟨U"
