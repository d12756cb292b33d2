"""Has each Connector check its own configuration, without letting its words carry a value out."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from dexbridge.config.checking.envelope import Record
from dexbridge.config.errors import ConfigurationDefect
from dexbridge.config.sealing import sealed
from dexbridge.config.telling.codes import Code, Severity
from dexbridge.config.telling.finding import HIDDEN, Finding, Path, quoted
from dexbridge.connectors import ENDPOINT_RULES, ConnectorDefinition

# pydantic's kinds of errors whose rule can be told without the value, in our own words.
_RULES: Final = {
    "string_type": "it must be a text",
    "string_too_short": "it must have at least {min_length} characters",
    "string_too_long": "it must have at most {max_length} characters",
    "int_type": "it must be a whole number",
    "int_parsing": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "float_type": "it must be a number",
    "float_parsing": "it must be a number",
    "finite_number": "it must be a finite number",
    "bool_type": "it must be true or false",
    "bool_parsing": "it must be true or false",
    "list_type": "it must be a list",
    "dict_type": "it must be an object",
    "model_type": "it must be an object",
    "greater_than": "it must be more than {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than": "it must be less than {lt}",
    "less_than_equal": "it must be at most {le}",
    "too_short": "it must have at least {min_length} elements",
    "too_long": "it must have at most {max_length} elements",
    "literal_error": "it must be {expected}",
    "enum": "it must be {expected}",
}


_FORM: Final = "it does not have the right form"


def not_installed(record: Record, installed: tuple[str, ...]) -> Finding:
    """The warning for a record whose Connector is not installed: it is kept, and cannot be checked."""
    near = difflib.get_close_matches(record.connector_id, installed, n=1)
    mend = (
        f"If {near[0]} is meant, write that; else install the package that brings the Connector."
        if near
        else "Install the package that brings it; an application that does not use this connection may ignore this."
    )
    return Finding(
        Code.CONNECTOR_NOT_INSTALLED,
        (*record.path, "connectorId"),
        f"The Connector {quoted(record.connector_id)} is not installed, so this connection was not checked.",
        mend,
        record.label,
        severity=Severity.WARNING,
        foreign={repr(record.connector_id): HIDDEN},
    )


def check_configuration(
    record: Record, definition: ConnectorDefinition, findings: list[Finding], *, guessed: bool = False
) -> None:
    """Checks a record's configuration with the Connector's model.

    With `guessed`, something was left out of the file, so what is missing is not a fault.
    """
    configuration = record.configuration
    if configuration is None:
        return
    model = definition.configuration
    try:
        errors = sealed("checking a configuration", lambda: _errors(model, configuration))
    except ConfigurationDefect as defect:
        findings.append(
            Finding(
                Code.CONFIGURATION,
                (*record.path, "configuration"),
                f"The check of the Connector {record.connector_id} itself failed.",
                f"Report this to the Connector's author: {defect}",
                record.label,
                foreign={str(defect): HIDDEN},
            )
        )
        return
    for location, kind, rule in errors:
        if guessed and (kind == "missing" or not location):
            continue
        findings.append(_finding(record, model, location, kind, rule))


def _errors(model: type[BaseModel], configuration: dict[str, Any]) -> list[tuple[Path, str, str]]:
    try:
        model.model_validate(configuration)
    except ValidationError as invalid:
        return [
            (error["loc"], error["type"], _rule(error["type"], error["msg"], error.get("ctx", {})))
            for error in invalid.errors(include_url=False, include_input=False)
        ]
    return []


def _rule(kind: str, text: str, bounds: Mapping[str, object]) -> str:
    if kind == "value_error":
        return text.removeprefix("Value error, ").rstrip(".")
    return _RULES.get(kind, _FORM).format_map(bounds)


def _finding(record: Record, model: type[BaseModel], location: Path, kind: str, rule: str) -> Finding:
    path: Path = (*record.path, "configuration")
    name = ".".join(str(step) for step in location)
    if kind == "extra_forbidden":
        known = tuple(field.alias or key for key, field in model.model_fields.items())
        near = difflib.get_close_matches(name.lower(), [one.lower() for one in known], n=1)
        right = next((one for one in known if near and one.lower() == near[0]), None)
        return Finding(
            Code.CONFIGURATION,
            (*path, *location),
            f"The Connector {record.connector_id} has no configuration {quoted(name)}.",
            f"Write it as {right}." if right else f"Remove it; known are {', '.join(known) or 'none'}.",
            record.label,
            at_key=True,
            foreign={repr(name): HIDDEN},
        )
    if kind == "missing":
        return Finding(
            Code.CONFIGURATION,
            (*path, *location[:-1]),
            f"The configuration has no {quoted(name)}, which {record.connector_id} needs.",
            "Add it.",
            record.label,
        )
    foreign = {repr(name): HIDDEN}
    if kind == "value_error" and rule not in ENDPOINT_RULES:
        # A Connector's own sentence may hold the value; then all of it goes, as half of it would say nothing.
        foreign[rule] = _FORM
    return Finding(
        Code.CONFIGURATION,
        (*path, *location),
        f"The configuration {quoted(name)} is refused: {rule}." if name else f"The configuration is refused: {rule}.",
        "Correct it, or leave it out for the default; `dexbridge config schema` prints what is accepted.",
        record.label,
        foreign=foreign,
    )
