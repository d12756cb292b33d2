"""Keys at the top of the file that do not belong there: most are a connection's own, under a header that is wrong."""

from __future__ import annotations

import difflib
from typing import Any, Final

from dexbridge.config.reading.shapes import is_list, is_object
from dexbridge.config.telling.codes import Code
from dexbridge.config.telling.finding import Finding, quoted
from dexbridge.config.telling.notation import Notation

_NEAR: Final = 0.75
_LONGEST: Final = 64
_TABLES: Final = ("configuration", "credentials")


def check_misplaced(
    document: dict[str, Any],
    keys: list[str],
    findings: list[Finding],
    notation: Notation,
    *,
    top: tuple[str, ...],
    record: tuple[str, ...],
    credentials: frozenset[str],
) -> bool:
    """Adds a fault for each unknown key at the top; nothing that may be a connection's is told to be removed.

    Args:
        document: the file.
        keys: those not known at the top, in any letter case.
        findings: faults are added here.
        notation: of the file.
        top: the keys of the top.
        record: the keys of a connection.
        credentials: every name a credential can have.

    Returns:
        Whether the connections are likely there, under other keys.
    """
    names = [key for key in keys if key in record and key not in _TABLES]
    likely = bool(names)
    if names:
        findings.append(_names(names, notation, has_list=is_list(document.get("connections"))))
    for key in keys:
        if key in names:
            continue
        value = document[key]
        near = difflib.get_close_matches(key, top, n=1, cutoff=_NEAR) if len(key) < _LONGEST else []
        if near:
            mend = _renamed(near[0], notation)
            likely = likely or near[0] == "connections"
        elif key in _TABLES:
            mend = (
                f"Write its header as [connections.{key}], and put it below the [[connections]] it belongs to."
                if notation.toml
                else f'Move it into the connection it belongs to: "connections": [{{ …, "{key}": {{ … }} }}]'
            )
        elif key in credentials:
            mend = f"Move it into {'[connections.credentials]' if notation.toml else 'credentials of its connection'}."
        elif is_object(value) or is_list(value):
            header = "[[connections]]" if notation.toml else 'an element of "connections"'
            mend = f"If it is a connection, write it as {header}, with connectorId and connectionName; else remove it."
        else:
            mend = f"Remove it; known are {', '.join(top)}."
        message = f"The key {quoted(key)} is not known at the top of the file."
        findings.append(Finding(Code.UNKNOWN_KEY, (key,), message, mend, at_key=True))
    return likely


def _names(names: list[str], notation: Notation, *, has_list: bool) -> Finding:
    said = ", ".join(names)
    if not notation.toml:
        mend = 'Move what belongs to a connection into one: "connections": [{ "connectorId": … }]'
    elif has_list:
        mend = "Move them below the [[connections]] they belong to."
    else:
        mend = "Put the line [[connections]] above the first of them."
    one = len(names) == 1
    message = f"{said} {'stands' if one else 'stand'} outside of a connection, at the top of the file."
    return Finding(Code.UNKNOWN_KEY, (names[0],), message, mend, at_key=True)


def _renamed(right: str, notation: Notation) -> str:
    if notation.toml and right == "connections":
        headers = "[[connections]], [connections.configuration], [connections.credentials]"
        return f"Write connections in every header: {headers}."
    return f"Write it as {right}."
