"""Has each Connector check its own configuration, without letting its words carry a value out."""

from __future__ import annotations

import difflib
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from dexbridge.config.codes import Code, Severity
from dexbridge.config.envelope import Record
from dexbridge.config.errors import ConfigurationDefect
from dexbridge.config.finding import Finding, Path, quoted
from dexbridge.config.sealing import sealed
from dexbridge.connectors import ConnectorDefinition

# Kinds of pydantic errors whose text tells the rule and never the value.
_RULE_ONLY: Final = frozenset(
    {
        "missing",
        "string_type",
        "string_too_short",
        "string_too_long",
        "int_type",
        "int_from_float",
        "float_type",
        "bool_type",
        "list_type",
        "dict_type",
        "greater_than",
        "greater_than_equal",
        "less_than",
        "less_than_equal",
        "too_short",
        "too_long",
        "literal_error",
        "enum",
        "value_error",
    }
)


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
            )
        )
        return
    for location, kind, text in errors:
        if guessed and (kind == "missing" or not location):
            continue
        findings.append(_finding(record, model, location, kind, text))


def _errors(model: type[BaseModel], configuration: dict[str, Any]) -> list[tuple[Path, str, str]]:
    try:
        model.model_validate(configuration)
    except ValidationError as invalid:
        return [
            (error["loc"], error["type"], error["msg"])
            for error in invalid.errors(include_url=False, include_context=False, include_input=False)
        ]
    return []


def _finding(record: Record, model: type[BaseModel], location: Path, kind: str, text: str) -> Finding:
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
        )
    if kind == "missing":
        return Finding(
            Code.CONFIGURATION,
            (*path, *location[:-1]),
            f"The configuration has no {quoted(name)}, which {record.connector_id} needs.",
            "Add it.",
            record.label,
        )
    rule = text.removeprefix("Value error, ").rstrip(".") if kind in _RULE_ONLY else "it has not the right form"
    return Finding(
        Code.CONFIGURATION,
        (*path, *location),
        f"The configuration {quoted(name)} is refused: {rule}." if name else f"The configuration is refused: {rule}.",
        "Correct it, or leave it out for the default; `dexbridge config schema` prints what is accepted.",
        record.label,
    )
