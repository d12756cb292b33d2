"""Characters a reader does not see: the one table behind "blank" and behind marking what is shown to a person."""

from __future__ import annotations

import unicodedata
from typing import Final

__all__ = ["is_blank", "is_unseen"]

# Source: Unicode 15, DerivedCoreProperties, Default_Ignorable_Code_Point: shown as nothing where not supported.
_IGNORED: Final = (
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian variation selectors, vowel separator
    (0x200B, 0x200F),  # zero width space, joiners, direction marks
    (0x202A, 0x202E),  # direction embedding and override
    (0x2060, 0x206F),  # word joiner, invisible operators, direction isolates
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # zero width no-break space
    (0xFFA0, 0xFFA0),  # halfwidth Hangul filler
    (0xFFF0, 0xFFF8),  # reserved
    (0x1BCA0, 0x1BCA3),  # shorthand format controls
    (0x1D173, 0x1D17A),  # musical format controls
    (0xE0000, 0xE0FFF),  # tags, variation selectors supplement
)
# Printable by their category, and without ink in the fonts people have.
_WITHOUT_INK: Final = (
    (0x2800, 0x2800),  # Braille pattern blank
    (0xFFFC, 0xFFFC),  # object replacement character
    (0x13441, 0x13442),  # Egyptian hieroglyph blanks
    (0x16FE4, 0x16FE4),  # Khitan small script filler
    (0x1D159, 0x1D159),  # musical symbol null notehead
)
_UNSEEN: Final = frozenset(chr(one) for first, last in (*_IGNORED, *_WITHOUT_INK) for one in range(first, last + 1))
_BLANK_CATEGORIES: Final = ("Cc", "Cf", "Zl", "Zp", "Zs")


def is_unseen(character: str) -> bool:
    """Whether a reader cannot see the character, or takes it for the space bar's blank; false for that blank itself.

    True also for line ends and tabs, for code points this Python does not know, and for halves of surrogate pairs.
    """
    return character in _UNSEEN or not character.isprintable()


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: it is empty, or holds only white space, format and other invisible characters."""
    return not text.strip() or all(
        one in _UNSEEN or one.isspace() or unicodedata.category(one) in _BLANK_CATEGORIES for one in text
    )
