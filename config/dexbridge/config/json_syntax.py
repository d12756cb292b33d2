"""JSON (RFC 8259), read strictly: no duplicate keys, no NaN, one value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from dexbridge.config.codes import Code
from dexbridge.config.syntax import NESTING_LIMIT, NUMBER_LIMIT, Parsed, SyntaxFault

# A string that does not end is taken to the end of the text, so that the scan never starts over inside it.
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]|-?Infinity|NaN|[0-9]+', re.DOTALL)
_COMMENT: Final = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_UNPAIRED: Final = re.compile(r"[\ud800-\udfff]")
_REST_UNCHECKED: Final = "What follows was not checked."


def parse_json(text: str) -> Parsed:
    """Decodes JSON text."""
    has_duplicates = suspicious = False

    def take_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_duplicates
        taken = dict(members)
        if len(taken) != len(members):
            has_duplicates = True
        return taken

    def take_constant(_: str) -> None:
        nonlocal suspicious
        suspicious = True

    def take_integer(digits: str) -> int:
        nonlocal suspicious
        if len(digits) > NUMBER_LIMIT:
            suspicious = True
            return 0
        return int(digits)

    try:
        value: object = json.loads(
            text, object_pairs_hook=take_members, parse_constant=take_constant, parse_int=take_integer
        )
    except json.JSONDecodeError as error:
        return Parsed(fault=_fault(text, error.msg, error.pos))
    except RecursionError:
        return Parsed(fault=_nesting(text))
    suspicions = tuple(_suspicions(text)) if suspicious else ()
    if "\\u" in text:
        suspicions += tuple(_unpaired_surrogates(text))
    return Parsed(value, suspicions=suspicions, has_duplicates=has_duplicates)


def _fault(text: str, problem: str, at: int) -> SyntaxFault:
    before = text[:at].rstrip()
    found = text[at : at + 1]
    if found and found in "}]" and before.endswith(","):
        comma = len(before) - 1
        return SyntaxFault(
            comma,
            "There is a comma after the last member.",
            "Remove the comma.",
            _overwrite(text, comma, comma + 1),
        )
    comment = _COMMENT.match(text, at)
    if comment is not None:
        return SyntaxFault(
            at,
            "JSON has no comments.",
            "Remove the comment, or write the file as TOML.",
            _overwrite(text, at, comment.end()),
        )
    if problem == "Extra data":
        return SyntaxFault(
            at,
            "The JSON value ends before this; a file holds one value.",
            "Remove what follows it.",
            _overwrite(text, at, len(text)),
        )
    if problem.startswith("Invalid control character"):
        return SyntaxFault(
            at,
            "A string holds a line break or another control character.",
            r"Close the string on its line, or write \n for a line break.",
            text[:at] + "x" + text[at + 1 :],
        )
    if problem == "Expecting ',' delimiter" and found and found in '"{[-0123456789tfn':
        return SyntaxFault(at, "A comma is missing before this.", "Add the comma.", _with_comma(text, at))
    return SyntaxFault(at, *_plain(problem, found))


def _plain(problem: str, found: str) -> tuple[str, str]:
    if not found:
        return "The file ends in the middle of a value.", "Close what is open: a string, ], or }."
    if problem.startswith("Unterminated string"):
        return "This string is not closed.", f"Add the closing quote. {_REST_UNCHECKED}"
    if found == "'":
        return "JSON has only double quotes.", f"Write \"…\" instead of '…'. {_REST_UNCHECKED}"
    if problem.startswith("Expecting property name"):
        return "A key in double quotes is expected here.", f'Write the key as "key". {_REST_UNCHECKED}'
    if problem.startswith("Expecting ':'"):
        return "A colon is expected after the key.", f'Write "key": value. {_REST_UNCHECKED}'
    if problem.startswith("Expecting ','"):
        return "A comma or a closing bracket is expected here.", f"Add what is missing. {_REST_UNCHECKED}"
    if problem.startswith("Invalid \\"):
        return "This is not an escape that JSON knows.", f"Write a backslash as \\\\. {_REST_UNCHECKED}"
    return (
        "A JSON value is expected here.",
        f"Text stands in double quotes; words without them are only true, false and null. {_REST_UNCHECKED}",
    )


def _overwrite(text: str, start: int, end: int) -> str:
    """The text with a stretch made blank; as many UTF-8 bytes as before, and lines stay lines."""
    blank = "".join(one if one == "\n" else " " * len(one.encode()) for one in text[start:end])
    return text[:start] + blank + text[end:]


def _with_comma(text: str, at: int) -> str | None:
    return text[: at - 1] + "," + text[at:] if text[at - 1 : at].isspace() else None


def _nesting(text: str) -> SyntaxFault:
    depth = 0
    for token in _TOKENS.finditer(text):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        if depth > NESTING_LIMIT:
            break
    return SyntaxFault(
        token.start() if depth else 0,  # pyright: ignore[reportPossiblyUnboundVariable]
        f"Values are nested more than {NESTING_LIMIT} deep here.",
        "A connection file needs five levels; remove what does not belong in it.",
        code=Code.NESTING,
    )


def _suspicions(text: str) -> Iterator[SyntaxFault]:
    for token in _TOKENS.finditer(text):
        if token[0] in ("NaN", "Infinity", "-Infinity"):
            yield SyntaxFault(token.start(), f"{token[0]} is not a JSON value.", "Write a number.")
        elif token[0][0].isdigit() and len(token[0]) >= NUMBER_LIMIT:
            yield SyntaxFault(token.start(), "This number is too long.", "Write a number of at most 400 digits.")


def _unpaired_surrogates(text: str) -> Iterator[SyntaxFault]:
    for token in _TOKENS.finditer(text):
        if "\\u" in token[0] and _UNPAIRED.search(json.loads(token[0])):
            yield SyntaxFault(
                token.start(), r"A \u escape in this string is half of a pair.", "Write the character itself."
            )
