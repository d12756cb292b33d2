"""Decodes the bytes of a connection file and says everything that is wrong with its syntax.

A fault that can be stepped over in only one way (a comma too many, a comment, one broken TOML line) is stepped
over by overwriting bytes in a copy, so that the rest of the file is checked in the same run and offsets stay true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from dexbridge.config.reading.shapes import is_list, is_object
from dexbridge.config.telling.codes import Code
from dexbridge.config.telling.finding import Finding

NESTING_LIMIT: Final = 64
NUMBER_LIMIT: Final = 400
_REPAIRS: Final = 20
_REPAIRABLE_SIZE: Final = 1024 * 1024
_REST_UNCHECKED: Final = "What follows was not checked."
_NOTHING_CHECKED: Final = "Nothing but the syntax was checked, and that only up to here."


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """One syntax fault.

    Args:
        offset: in characters.
        message: what is wrong.
        mend: what to do.
        repaired: the text with the fault overwritten, of the same length; None when there is no single way.
        guessed: `repaired` left something out, so what seems missing may be there.
        code: stable code.
        ends_check: `repaired` ends before the fault, so what follows it is not checked.
    """

    offset: int
    message: str
    mend: str
    repaired: str | None = None
    guessed: bool = False
    code: Code = Code.SYNTAX
    ends_check: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a parser made of a text: a value, or the first fault, never both.

    Args:
        value: the decoded document.
        fault: the fault that ended the parse.
        suspicions: faults that did not end it, such as `NaN`.
        has_duplicates: some object has a key twice; the places are looked up later.
        first: with duplicates, the document with the first value of each such key; `value` has the last.
    """

    value: object = None
    fault: SyntaxFault | None = None
    suspicions: tuple[SyntaxFault, ...] = ()
    has_duplicates: bool = False
    first: object = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded document.

    Args:
        value: what was decoded; None when `broken`.
        findings: syntax faults by offset.
        text: the text `value` was decoded from: the file's, with repairs.
        broken: nothing could be decoded.
        guessed: a repair left something out.
        has_duplicates: some object has a key twice.
        first: with duplicates, the document with the first value of each such key; `value` has the last.
    """

    value: object
    findings: tuple[Finding, ...]
    text: bytes
    broken: bool = False
    guessed: bool = False
    has_duplicates: bool = False
    first: object = None


def decode(data: bytes, parse: Callable[[str], Parsed]) -> Decoded:
    """Decodes the file's bytes with a parser, stepping over what can be stepped over."""
    text, unreadable = _text(data)
    if unreadable is not None:
        return Decoded(None, (unreadable,), data, broken=True)
    findings: list[Finding] = []
    guessed = False
    for _ in range(_REPAIRS if len(data) <= _REPAIRABLE_SIZE else 1):
        parsed = parse(text)
        fault = parsed.fault
        if fault is None:
            findings += (_finding(text, suspicion) for suspicion in parsed.suspicions)
            deep = _too_deep(parsed.value)
            if deep is not None:
                findings.append(_nesting(deep))
            return Decoded(
                parsed.value,
                tuple(findings),
                text.encode(),
                deep is not None,
                guessed,
                parsed.has_duplicates,
                parsed.first,
            )
        findings.append(_finding(text, fault))
        if fault.repaired is None:
            break
        text, guessed = fault.repaired, guessed or fault.guessed
    if findings[-1].code is not Code.NESTING:
        last = findings[-1]
        mend = last.mend.removesuffix(_REST_UNCHECKED).rstrip()
        findings[-1] = replace(last, mend=f"{mend} {_NOTHING_CHECKED}")
    return Decoded(None, tuple(findings), text.encode(), broken=True)


def _finding(text: str, fault: SyntaxFault) -> Finding:
    offset = len(text[: fault.offset].encode())
    mend = f"{fault.mend} {_REST_UNCHECKED}" if fault.ends_check and text[fault.offset :].strip() else fault.mend
    return Finding(fault.code, (), fault.message, mend, offset=offset)


def _nesting(path: tuple[str | int, ...]) -> Finding:
    return Finding(
        Code.NESTING,
        path,
        f"Values are nested more than {NESTING_LIMIT} deep here.",
        "A connection file needs five levels; remove what does not belong in it.",
    )


def _text(data: bytes) -> tuple[str, Finding | None]:
    if not data.strip():
        return "", Finding(Code.FILE_EMPTY, (), "The file is empty.", "Write it with: dexbridge config init", offset=0)
    for mark, name in ((b"\xef\xbb\xbf", "UTF-8"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16")):
        if data.startswith(mark):
            return "", Finding(Code.FILE_ENCODING, (), f"The file starts with a {name} byte order mark.", "", offset=0)
    if (zero := data.find(b"\0")) >= 0:
        return "", Finding(
            Code.FILE_ENCODING,
            (),
            "The file holds a NUL byte.",
            "Save it as plain UTF-8 text; a UTF-16 file looks like this.",
            offset=zero,
        )
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        return "", Finding(
            Code.FILE_ENCODING, (), "The file is not UTF-8 here.", "Save it as UTF-8.", offset=error.start
        )


def _too_deep(value: object) -> tuple[str | int, ...] | None:
    """The path of a container below the limit, or None. The document's own container is at depth 1."""
    level: list[object] = [value]
    for _ in range(NESTING_LIMIT):
        following: list[object] = []
        for container in level:
            if is_object(container):
                following += [inner for inner in container.values() if type(inner) in _CONTAINERS]
            elif is_list(container):
                following += [inner for inner in container if type(inner) in _CONTAINERS]
        if not following:
            return None
        level = following
    return _path_to_depth(value)


_CONTAINERS: Final = frozenset({dict, list})


def _path_to_depth(value: object) -> tuple[str | int, ...] | None:
    stack: list[tuple[object, tuple[str | int, ...]]] = [(value, ())]
    while stack:
        current, path = stack.pop()
        if len(path) >= NESTING_LIMIT:
            return path
        members: list[tuple[str | int, object]] = []
        if is_object(current):
            members = list(current.items())
        elif is_list(current):
            members = list(enumerate(current))
        stack += [(inner, (*path, step)) for step, inner in members if type(inner) in _CONTAINERS]
    return None
