"""JSON (RFC 8259), read strictly: no duplicate keys, no NaN, one value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from dexbridge.config.reading.syntax import NESTING_LIMIT, NUMBER_LIMIT, Parsed, SyntaxFault
from dexbridge.config.reading.typography import typed_wrong
from dexbridge.config.telling.codes import Code

# A string that does not end is taken to the end of the text, so that the scan never starts over inside it.
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]|-?Infinity|NaN|[0-9]+', re.DOTALL)
_STRUCTURE: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{},]', re.DOTALL)
_COMMENT: Final = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_UNPAIRED: Final = re.compile(r"[\ud800-\udfff]")
_VALUE_START: Final = re.compile(r'["{[]|-?[0-9]|(?:true|false|null)\b')
_TOML: Final = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:\[\[[ \t]*[A-Za-z]|[A-Za-z][A-Za-z0-9_]*[ \t]*=)")
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
# The rest of a string whose line break was meant: nothing of JSON's own stands in it, and it ends as a string does.
_REST_OF_STRING: Final = re.compile(r'(?:[^"\\{}\[\]:,]|\\.)*+(?="\s*[,}\]:])', re.DOTALL)
_REST_OF_LINE: Final = re.compile(r'(?:[^"\\\r\n]|\\[^\r\n])*+(?=")')


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

    def take_first_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
        return dict(reversed(members))

    def load(hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> object:
        return json.loads(text, object_pairs_hook=hook, parse_constant=take_constant, parse_int=take_integer)

    try:
        value = load(take_members)
    except json.JSONDecodeError as error:
        return Parsed(fault=_fault(text, error.msg, error.pos))
    except RecursionError:
        return Parsed(fault=_nesting(text))
    suspicions = tuple(_suspicions(text)) if suspicious else ()
    if "\\u" in text:
        suspicions += tuple(_unpaired_surrogates(text))
    first = load(take_first_members) if has_duplicates else None
    return Parsed(value, suspicions=suspicions, has_duplicates=has_duplicates, first=first)


def _fault(text: str, problem: str, at: int) -> SyntaxFault:
    if _TOML.match(text):
        return SyntaxFault(0, "This is TOML, not JSON.", "Name the file with .toml in the place of .json.")
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
        return _control_character(text, at)
    with_comma = (
        _with_comma(text, at) if problem == "Expecting ',' delimiter" and _VALUE_START.match(text, at) else None
    )
    if with_comma is not None:
        return SyntaxFault(at, "A comma is missing before this.", "Add the comma.", with_comma)
    message, mend = typed_wrong(text, at) or _plain(problem, found)
    return SyntaxFault(at, message, mend, _whole_before(text, at), guessed=True, ends_check=True)


def _control_character(text: str, at: int) -> SyntaxFault:
    breaks = text[at] in "\r\n"
    rest = (_REST_OF_STRING if breaks else _REST_OF_LINE).match(text, at)
    if rest is not None:
        return SyntaxFault(
            at,
            "A string holds a line break or another control character.",
            r"Close the string on its line, or write \n for a line break.",
            text[:at] + _CONTROL.sub("x", rest[0]) + text[rest.end() :],
        )
    start = next((token.start() for token in _TOKENS.finditer(text) if token.end() > at), at)
    return SyntaxFault(
        start,
        "This string is not closed on its line.",
        "Add the closing quote.",
        _whole_before(text, start),
        guessed=True,
        ends_check=True,
    )


def _whole_before(text: str, at: int) -> str | None:
    """The text up to a fault, without a member that may be cut by it, and with what is open closed."""
    kept = text[:at].rstrip()
    open_brackets: list[str] = []
    cut, at_cut = 0, ""
    for token in _STRUCTURE.finditer(kept):
        mark = token[0]
        if mark in "[{":
            open_brackets.append("]" if mark == "[" else "}")
            cut, at_cut = token.end(), "".join(reversed(open_brackets))
        elif mark in "]}":
            if not open_brackets or open_brackets.pop() != mark:
                return None
        elif mark == ",":
            cut, at_cut = token.start(), "".join(reversed(open_brackets))
    if kept.endswith(("}", "]")):
        cut, at_cut = len(kept), "".join(reversed(open_brackets))
    repaired = kept[:cut] + at_cut
    try:
        json.loads(repaired)
    except (ValueError, RecursionError):
        return None
    return repaired


def _plain(problem: str, found: str) -> tuple[str, str]:
    if not found:
        return "The file ends in the middle of a value.", "Close what is open: a string, ], or }."
    if problem.startswith("Unterminated string"):
        return "This string is not closed.", "Add the closing quote."
    if found == "'":
        return "JSON has only double quotes.", "Write \"…\" instead of '…'."
    if problem.startswith("Expecting property name"):
        return "A key in double quotes is expected here.", 'Write the key as "key".'
    if problem.startswith("Expecting ':'"):
        return "A colon is expected after the key.", 'Write "key": value.'
    if problem.startswith("Expecting ','"):
        return (
            "A comma or a closing bracket is expected here.",
            "Add what is missing; a quote before this may be missing, or one too many.",
        )
    if problem.startswith("Invalid \\"):
        return "This is not an escape that JSON knows.", "Write a backslash as \\\\."
    return (
        "A JSON value is expected here.",
        "Text stands in double quotes; words without them are only true, false and null.",
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
