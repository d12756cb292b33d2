"""TOML 1.0, by the standard library's parser."""

from __future__ import annotations

import re
import tomllib
from typing import Final

from dexbridge.config.reading.syntax import NESTING_LIMIT, NUMBER_LIMIT, Parsed, SyntaxFault
from dexbridge.config.reading.typography import typed_wrong
from dexbridge.config.telling.codes import Code

_PLACE: Final = re.compile(r"\((?:at line (\d+), column (\d+)|at end of document)\)$")
_SIMPLE_LINE: Final = re.compile(r"""[ \t]*[A-Za-z0-9_."'-]+[ \t]*=""")
_HEADER: Final = re.compile(r"[ \t]*(\[+)[ \t]*([A-Za-z.]{1,40})[ \t]*(\]*)")
_LISTS: Final = ("connections", "triggerBindings")
_TABLES: Final = ("connections.configuration", "connections.credentials")
_LONG_NUMBER: Final = re.compile(rf"[0-9]{{{NUMBER_LIMIT}}}")
# The parser takes quadratic time for a key of very many parts. Tried only where a part starts, so in linear time.
_PART: Final = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_DOTTED: Final = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_PART}){{{NESTING_LIMIT}}}")
_PROBLEMS: Final = (
    ("Cannot overwrite a value", "This key is there twice.", "Keep one of the two.", Code.DUPLICATE_KEY),
    (
        "Cannot declare",
        "This table is there twice.",
        "Keep one of the two; a second connection begins with a [[connections]] of its own.",
        Code.DUPLICATE_KEY,
    ),
    ("Duplicate inline table key", "This key is there twice.", "Keep one of the two.", Code.DUPLICATE_KEY),
    (
        "Cannot mutate immutable",
        "This was written with = before, so nothing can be added to it here.",
        "Move what is added into that line, or move that line's values here and remove it.",
        Code.DUPLICATE_KEY,
    ),
    ("Cannot redefine", "This table is there twice.", "Keep one of the two.", Code.DUPLICATE_KEY),
    ("Unterminated string", "This string is not closed.", "Add the closing quote.", Code.SYNTAX),
    (
        "Illegal character",
        "There is a control character or a line break where it may not be.",
        "Close the string on its line.",
        Code.SYNTAX,
    ),
    ("Unclosed", "A bracket is not closed.", "Add ] or }; an inline table stands on one line.", Code.SYNTAX),
    ("Expected '='", "An = is expected after the key.", "Write: key = value.", Code.SYNTAX),
    (
        "Invalid value",
        "A TOML value is expected here.",
        'Text stands in quotes: key = "text".',
        Code.SYNTAX,
    ),
    ("Invalid statement", "This is not a TOML line.", "Write: key = value, or [table].", Code.SYNTAX),
    ("Expected ']", "This table header is not closed.", "Close it as it was opened: ] or ]].", Code.SYNTAX),
    ("Expected newline", "Something follows the value.", "Start a new line after the value.", Code.SYNTAX),
)


def parse_toml(text: str) -> Parsed:
    """Decodes TOML text."""
    deep = _DOTTED.search(text)
    if deep is not None:
        return Parsed(fault=_nesting(deep.start()))
    try:
        return Parsed(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        return Parsed(fault=_fault(text, str(error)))
    except RecursionError:
        bracket = re.search(r"[\[{]{2,}", text)
        return Parsed(fault=_nesting(bracket.start() if bracket else 0))
    except ValueError:
        number = _LONG_NUMBER.search(text)
        return Parsed(
            fault=SyntaxFault(
                number.start() if number else 0,
                "A number or a date here cannot be read.",
                f"Write numbers of at most {NUMBER_LIMIT} digits and dates that exist.",
            )
        )


def _nesting(at: int) -> SyntaxFault:
    return SyntaxFault(
        at,
        f"Values are nested more than {NESTING_LIMIT} deep here.",
        "A connection file needs five levels; remove what does not belong in it.",
        code=Code.NESTING,
    )


def _fault(text: str, problem: str) -> SyntaxFault:
    at = _offset(text, problem)
    message, mend, code = "This is not TOML.", "Compare with the example in docs/configuration.md.", Code.SYNTAX
    for start, known_message, known_mend, known_code in _PROBLEMS:
        if problem.startswith(start):
            message, mend, code = known_message, known_mend, known_code
            break
    header = _HEADER.match(text, text.rfind("\n", 0, at) + 1)
    typed = typed_wrong(text, at)
    if text.lstrip().startswith("{"):
        message, mend = "This is JSON, not TOML.", "Name the file with .json in the place of .toml."
    elif header is not None and (len(header[1]), len(header[3])) != (1, 1) and len(header[1]) != len(header[3]):
        message, mend = _unequal(header[2])
    elif typed is not None:
        message, mend = typed
    elif text[text.rfind("\n", 0, at) + 1 : at].rstrip().endswith("{"):
        message, mend = "An inline table stands on one line.", "Write all of it, from { to }, on one line."
    elif problem.startswith("Illegal character") and text[at : at + 1] in "\r\n":
        message, mend = "This string is not closed on its line.", "Add the closing quote."
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    line = text[start:end]
    if code is Code.DUPLICATE_KEY:
        at = start + len(line) - len(line.lstrip())
    # Only a line that is one whole `key = value` can be left out without changing what the others mean.
    alone = _SIMPLE_LINE.match(line) and '"""' not in line and "'''" not in line and line.count("[") == line.count("]")
    if not alone or line.count("{") != line.count("}"):
        return SyntaxFault(at, message, mend, _whole_before(text, start), guessed=True, code=code, ends_check=True)
    blank = " " * len(line.encode())
    return SyntaxFault(at, message, mend, text[:start] + blank + text[end:], guessed=True, code=code)


def _unequal(name: str) -> tuple[str, str]:
    message = "This header has not as many brackets on its right as on its left."
    if name in _LISTS:
        return message, f"Write it with two on each side: [[{name}]]"
    return message, f"Write it with one on each side: [{name if name in _TABLES else 'name'}]"


def _whole_before(text: str, start: int) -> str | None:
    """The lines before a faulty one, if they are whole by themselves."""
    try:
        tomllib.loads(text[:start])
    except (ValueError, RecursionError):
        return None
    return text[:start]


def _offset(text: str, problem: str) -> int:
    place = _PLACE.search(problem)
    if place is None or place[1] is None:
        return len(text)
    offset = 0
    for _ in range(int(place[1]) - 1):
        offset = text.index("\n", offset) + 1
    return min(offset + int(place[2]) - 1, len(text))
