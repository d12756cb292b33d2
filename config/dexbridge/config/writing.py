"""Writes a new connection file: whole or not at all, and never readable by others."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dexbridge.config.checking.envelope import SCHEMA_VERSION
from dexbridge.config.errors import ConfigurationError
from dexbridge.config.sealing import sealed
from dexbridge.connectors import Secret

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class EnvironmentReference:
    """A credential that stands in an environment variable. TOML only."""

    variable: str


@dataclass(frozen=True)
class FileReference:
    """A credential that stands in a file. TOML only."""

    path: str


NewCredential = Secret | EnvironmentReference | FileReference


@dataclass(frozen=True)
class NewConnection:
    """A connection to write.

    Args:
        connector_id: such as `slack`.
        connection_name: such as `support-slack`.
        configuration: as the Connector takes it.
        credentials: by name.
    """

    connector_id: str
    connection_name: str
    configuration: Mapping[str, str | int | bool]
    credentials: Mapping[str, NewCredential]


def write_connection_file(path: str, connections: Sequence[NewConnection]) -> None:
    """Writes a connection file of mode 0600, by renaming a finished one over it.

    Args:
        path: absolute, ending with .json or .toml; nothing but an empty file may be there.
        connections: what it holds.

    Raises:
        ConfigurationError: a file is there, the name tells no format, JSON is to hold a reference, or the folder
            cannot be written.
    """
    target = Path(path)
    if os.path.lexists(path) and not (target.is_file() and not target.is_symlink() and target.stat().st_size == 0):
        raise ConfigurationError(f"{path} is there already. Edit it, or name another file.")
    toml = target.suffix.lower() == ".toml"
    if not toml and target.suffix.lower() != ".json":
        raise ConfigurationError(f"{path} has a name that does not tell its format. Name it with .toml or .json.")
    if not toml and any(not isinstance(one, Secret) for each in connections for one in each.credentials.values()):
        raise ConfigurationError("JSON has no references to variables or files. Name the file with .toml to use them.")
    failure = sealed("writing the connection file", lambda: _write(target, connections, toml=toml))
    if failure is not None:
        raise ConfigurationError(f"{path} cannot be written: {failure}. Name a file in a folder you may write to.")


def _write(target: Path, connections: Sequence[NewConnection], *, toml: bool) -> str | None:
    text = _toml(connections) if toml else _json(connections)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp makes it with mode 0600, so it is at no moment readable by others.
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        return error.strerror or "it is not a path"
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        return error.strerror or "the disk refused it"
    return None


def _json(connections: Sequence[NewConnection]) -> str:
    records: list[dict[str, Any]] = [
        {
            "connectorId": one.connector_id,
            "modulePath": "dexbridge.connectors",
            "moduleVersion": "v0.1.0",
            "provider": one.connector_id,
            "connectionName": one.connection_name,
            "configuration": dict(one.configuration),
            "credentials": {
                name: value.reveal() for name, value in one.credentials.items() if isinstance(value, Secret)
            },
        }
        for one in connections
    ]
    document = {"schemaVersion": SCHEMA_VERSION, "connections": records, "triggerBindings": []}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _toml(connections: Sequence[NewConnection]) -> str:
    lines = [f"schemaVersion = {_text(SCHEMA_VERSION)}"]
    for one in connections:
        lines += [
            "",
            "[[connections]]",
            f"connectorId = {_text(one.connector_id)}",
            f"connectionName = {_text(one.connection_name)}",
            "",
            "[connections.configuration]",
            *(f"{_key(name)} = {_value(value)}" for name, value in one.configuration.items()),
            "",
            "[connections.credentials]",
            *(f"{_key(name)} = {_credential(value)}" for name, value in one.credentials.items()),
        ]
    return "\n".join(lines) + "\n"


def _credential(value: NewCredential) -> str:
    match value:
        case EnvironmentReference(variable):
            return f"{{ env = {_text(variable)} }}"
        case FileReference(path):
            return f"{{ file = {_text(path)} }}"
        case Secret():
            return _text(value.reveal())


def _value(value: str | int | bool) -> str:
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    # A JSON string is a TOML basic string once the DEL character is escaped, which JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
