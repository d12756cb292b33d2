"""Shows the line a fault is on, with everything masked that is not a known word of the format."""

from __future__ import annotations

import re
from typing import Final

from dexbridge.config.checking.envelope import BINDING_NAME_KEYS, RECORD_KEYS, SCHEMA_VERSION, TOP_KEYS
from dexbridge.config.telling.diagnostic import SourceLine

_MASK: Final = "***"
_WIDEST: Final = 160
_PIECES: Final = re.compile(
    r'"(?P<double>(?:[^"\\]|\\.)*+)(?:"|$)' r"|'(?P<single>[^']*)(?:'|$)" r"|(?P<word>[^\s\"'{}\[\]:,=]+)"
)
_HARMLESS_WORD: Final = re.compile(r"true|false|null|//|#|\.|\d{4}-\d\d-\d\d")
_HARMLESS_TEXT: Final = re.compile(r"\s*|\d{4}-\d\d-\d\d(?:[Tt ][\d:.]{1,18}(?:[Zz]|[+-]\d\d:\d\d)?)?")
BASE_WORDS: Final = frozenset(
    {*TOP_KEYS, *RECORD_KEYS, *BINDING_NAME_KEYS, SCHEMA_VERSION, "env", "file", "auth_method", "auth_methods"}
)


def mask_line(line: str, column: int, width: int, words: frozenset[str]) -> SourceLine:
    """The masked line with its carets.

    Args:
        line: without its line break.
        column: of the fault, from 0, in characters.
        width: of the fault in characters.
        words: what may be shown in any letter case: keys and names, never values of credentials.
    """
    shown: list[str] = []
    length = caret = last = 0
    end_caret: int | None = None

    def put(text: str) -> None:
        nonlocal length
        shown.append(text)
        length += len(text)

    for piece in _PIECES.finditer(line):
        gap = line[last : piece.start()]
        if last <= column < piece.start():
            caret = length + column - last
        if last <= column + width < piece.start() and end_caret is None:
            end_caret = length + column + width - last
        put(gap)
        if piece.start() <= column < piece.end():
            caret = length
        put(_shown(piece, words))
        if piece.start() < column + width <= piece.end():
            end_caret = length
        last = piece.end()
    if column >= last:
        caret = length + column - last
    put(line[last:])
    text = "".join(shown).replace("\t", " ")
    carets = max(1, (length if end_caret is None else end_caret) - caret)
    return _fit(text, min(caret, length), min(carets, max(1, length - caret)))


def _shown(piece: re.Match[str], words: frozenset[str]) -> str:
    text = piece[0]
    inner = piece["double"] if piece["double"] is not None else piece["single"]
    if inner is not None:
        quote = text[0]
        return text if _HARMLESS_TEXT.fullmatch(inner) or _known(inner, words) else quote + _MASK + quote
    if _HARMLESS_WORD.fullmatch(text) or _known(text, words):
        return text
    dotted = text.split(".")
    return text if len(dotted) > 1 and all(_known(part, words) for part in dotted) else _MASK


def _known(text: str, words: frozenset[str]) -> bool:
    return text in words or text.lower() in words


def _fit(text: str, caret: int, carets: int) -> SourceLine:
    if len(text) <= _WIDEST:
        return SourceLine(text, caret, carets)
    start = max(0, caret - _WIDEST // 2)
    end = start + _WIDEST
    head, tail = ("… " if start else ""), (" …" if end < len(text) else "")
    return SourceLine(head + text[start:end] + tail, caret - start + len(head), max(1, min(carets, end - caret)))
