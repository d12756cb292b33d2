"""Trigger bindings. This program runs no triggers; it keeps the file's rules for those that do."""

from __future__ import annotations

from typing import Final

from dexbridge.config.checking.envelope import BINDING_NAME_KEYS, Record, label
from dexbridge.config.checking.member_faults import bad_name, check_key, missing, wrong_type
from dexbridge.config.reading.shapes import is_list, is_object
from dexbridge.config.telling.codes import Code
from dexbridge.config.telling.finding import Finding, Path

_KEYS: Final = frozenset((*BINDING_NAME_KEYS, "configuration"))
_BY_LOWER: Final = {key.lower(): key for key in _KEYS}


def check_bindings(document: object, records: list[Record], findings: list[Finding], *, guessed: bool) -> None:
    """Checks trigger bindings: four names each, of a connection in this file, no two alike."""
    bindings = document.get("triggerBindings") if is_object(document) else None
    if bindings is None:
        return
    if not is_list(bindings):
        findings.append(wrong_type(("triggerBindings",), "triggerBindings", "a list", "Write a list; of none: []"))
        return
    known = {(record.connector_id, record.connection_name) for record in records}
    first: dict[tuple[str, ...], Path] = {}
    for index, raw in enumerate(bindings):
        path: Path = ("triggerBindings", index)
        names = _check_binding(raw, path, findings, guessed=guessed)
        if names is None:
            continue
        name = label(names[0], names[1])
        if names[:2] not in known and not guessed:
            findings.append(
                Finding(
                    Code.TRIGGER_CONNECTION,
                    (*path, "connectionName"),
                    f"This trigger binding is for {name}, which is not among the connections.",
                    "Add that connection, or remove the binding.",
                    name,
                )
            )
        if first.setdefault(names, path) is not path:
            findings.append(
                Finding(
                    Code.DUPLICATE_TRIGGER,
                    (*path, "bindingName"),
                    "This trigger binding is there twice.",
                    "Remove one of the two.",
                    name,
                    related=((*first[names], "bindingName"),),
                )
            )


def _check_binding(raw: object, path: Path, findings: list[Finding], *, guessed: bool) -> tuple[str, ...] | None:
    if not is_object(raw):
        findings.append(
            wrong_type(path, "A trigger binding", "an object", "Write it as { … } with its four names, or remove it.")
        )
        return None
    extra = raw.keys() - _KEYS
    for key in extra:
        check_key(key, (*path, key), _BY_LOWER, findings, None)
    lowered = {key.lower() for key in extra}
    names: list[str] = []
    for key in BINDING_NAME_KEYS:
        value = raw.get(key)
        if type(value) is str and value.strip():
            names.append(value)
        elif key in raw:
            findings.append(bad_name((*path, key), key, value, None))
        elif key.lower() not in lowered and not guessed:
            findings.append(missing(path, key, f"Add: {key}, a text."))
    if "configuration" in raw and raw["configuration"] is not None and not is_object(raw["configuration"]):
        findings.append(
            wrong_type((*path, "configuration"), "configuration", "an object", "Write it as { … }, or remove it.")
        )
    return tuple(names) if len(names) == len(BINDING_NAME_KEYS) else None
