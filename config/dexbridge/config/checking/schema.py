"""The JSON Schema of a connection file, with every installed Connector, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dexbridge.config.checking.credentials import AUTH_METHOD_KEYS
from dexbridge.config.checking.envelope import (
    BINDING_NAME_KEYS,
    HAND_WRITTEN_NAME_KEYS,
    NAME_KEYS,
    REAUTHORIZATION_REQUIRED,
    SCHEMA_VERSION,
)
from dexbridge.connectors import ConnectorDefinition

_TEXT = {"type": "string", "pattern": r"\S"}


def connection_file_schema(connectors: Mapping[str, ConnectorDefinition], *, toml: bool = False) -> dict[str, Any]:
    """The schema, draft 2020-12.

    Args:
        connectors: by ID.
        toml: for files written by hand: credentials may be references, and three names may be left out.
    """
    definitions: dict[str, Any] = {}
    rules = [_connector_rule(definition, definitions, toml=toml) for definition in connectors.values()]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Connection file of dexbridge" + (", as TOML" if toml else ""),
        "type": "object",
        "required": ["schemaVersion", "connections"],
        "additionalProperties": False,
        "properties": {
            "schemaVersion": {"const": SCHEMA_VERSION},
            "connections": {"type": "array", "items": {**_record(toml=toml), "allOf": rules}},
            "triggerBindings": {"type": ["array", "null"], "items": _binding()},
        },
        "$defs": definitions,
    }


def _record(*, toml: bool) -> dict[str, Any]:
    names = HAND_WRITTEN_NAME_KEYS if toml else NAME_KEYS
    status = {"type": ["string", "null"], "examples": ["", REAUTHORIZATION_REQUIRED]}
    return {
        "type": "object",
        "required": [*names, "configuration", "credentials"],
        "properties": {
            **dict.fromkeys(NAME_KEYS, _TEXT),
            "connectorId": {"type": "string", "pattern": "^[a-z][a-z0-9-]{1,62}$"},
            "configuration": {"type": "object"},
            "credentials": {"type": "object"},
            "credentialExpiresAt": {"type": ["string", "null"], "format": "date-time"},
            "credentialStatus": status,
        },
    }


def _binding() -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(BINDING_NAME_KEYS),
        "properties": {**dict.fromkeys(BINDING_NAME_KEYS, _TEXT), "configuration": {"type": ["object", "null"]}},
    }


def _connector_rule(definition: ConnectorDefinition, definitions: dict[str, Any], *, toml: bool) -> dict[str, Any]:
    prefix = f"{definition.connector_id}."
    configuration = definition.configuration.model_json_schema(by_alias=True, ref_template=f"#/$defs/{prefix}{{model}}")
    definitions.update({prefix + name: one for name, one in configuration.pop("$defs", {}).items()})
    credentials = {
        "type": "object",
        "additionalProperties": False,
        "required": [field.name for field in definition.credentials if field.required],
        "properties": {
            **{
                field.name: _credential(field.title, field.hint, field.pattern, toml=toml)
                for field in definition.credentials
            },
            AUTH_METHOD_KEYS[0]: _TEXT,
            AUTH_METHOD_KEYS[1]: {"type": "array", "minItems": 1, "items": _TEXT},
        },
        "not": {"required": list(AUTH_METHOD_KEYS)},
    }
    return {
        "if": {"properties": {"connectorId": {"const": definition.connector_id}}, "required": ["connectorId"]},
        "then": {"properties": {"configuration": configuration, "credentials": credentials}},
    }


def _credential(title: str, hint: str, pattern: str | None, *, toml: bool) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string", "pattern": f"^(?:{pattern})$" if pattern else r"\S"}
    about = {"title": title, "description": hint}
    if not toml:
        return {**about, **text}
    reference = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": {"env": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}, "file": _TEXT},
    }
    return {**about, "anyOf": [text, reference]}
