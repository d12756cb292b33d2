"""`dexbridge config init`."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from dexbridge.config import (
    Code,
    ConfigurationError,
    Diagnostic,
    EnvironmentReference,
    FileReference,
    NewConnection,
    NewCredential,
    Sealed,
    inspect_file,
    write_connection_file,
)
from dexbridge.connectors import ConnectorDefinition, CredentialField, Secret
from dexbridge.console.commands.config_report import chosen_file, definitions, exit_code, render, wants_colour
from dexbridge.console.encodings import echo

_DEFAULT_FILE: Final = Path("~/.dex/connectors/connections.toml")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FORMS: Final = "Write NAME=env:VARIABLE, NAME=file:PATH, or NAME=- to be asked for the value."


def init(
    file: Annotated[Path | None, typer.Argument(readable=False, help="Where to write; .toml or .json.")] = None,
    connector: Annotated[str | None, typer.Option(help="The Connector, such as slack.")] = None,
    connection: Annotated[str | None, typer.Option(help="The connection's name, such as support-slack.")] = None,
    credential: Annotated[list[str] | None, typer.Option(help=_FORMS)] = None,
    configuration: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, such as maxMessageCharacters=800.")
    ] = None,
) -> None:
    """Writes a connection file with one connection, mode 0600. What is not given as a flag is asked for."""
    connectors = definitions()
    asks = sys.stdin.isatty()
    path = _path(file)
    definition = _connector(connector, connectors, asks=asks)
    name = connection or (typer.prompt("Name of the connection", default="main") if asks else "")
    if not name.strip():
        raise typer.BadParameter("Give the connection a name, such as support-slack.", param_hint="--connection")
    if credential is None and asks:
        credentials = _ask_credentials(definition, toml=path.endswith(".toml"))
    else:
        credentials = dict(_credential(text, definition, asks=asks) for text in credential or [])
    new = NewConnection(
        definition.connector_id, name, dict(_setting(text) for text in configuration or []), credentials
    )
    try:
        write_connection_file(path, [new])
    except ConfigurationError as refused:
        echo(f"error: {refused}", err=True)
        raise typer.Exit(2) from None
    echo(f"Wrote {path} with mode 0600.")
    inspection = inspect_file(path, Sealed[Mapping[str, str]](os.environ), connectors)
    colour = wants_colour()
    # A variable that is not set yet is no fault of what was written.
    faults = [one for one in inspection.diagnostics if one.code is not Code.CREDENTIAL_REFERENCE]
    for line in render(faults, colour=colour):
        echo(line, color=colour)
    for one in inspection.diagnostics:
        if one not in faults:
            echo(f"Not yet: {one.message} {one.mend}")
    echo(f"Next: export DEX_CONNECTOR_CONFIG_FILE={shlex.quote(path)} && dexbridge config check --live")
    raise typer.Exit(exit_code(faults, strict=False))


def _path(file: Path | None) -> str:
    chosen = chosen_file(file)
    if isinstance(chosen, Diagnostic):
        if chosen.code is not Code.NOT_CONFIGURED:
            echo(f"error: {chosen}", err=True)
            raise typer.Exit(2)
        return str(_DEFAULT_FILE.expanduser())
    return chosen


def _connector(given: str | None, connectors: Mapping[str, ConnectorDefinition], *, asks: bool) -> ConnectorDefinition:
    known = ", ".join(connectors)
    chosen = given
    if chosen is None:
        chosen = typer.prompt(f"Connector ({known})", default=next(iter(connectors))) if asks else ""
    definition = connectors.get(chosen)
    if definition is None:
        raise typer.BadParameter(f"Name an installed Connector: {known}.", param_hint="--connector")
    return definition


def _ask_credentials(definition: ConnectorDefinition, *, toml: bool) -> dict[str, NewCredential]:
    credentials: dict[str, NewCredential] = {}
    for field in definition.credentials:
        if not field.required and not typer.confirm(f"Set {field.name} ({field.title})?", default=False):
            continue
        if toml:
            variable = typer.prompt(
                "Environment variable that holds it (- to type the value)",
                default=f"{definition.connector_id}_{field.name}".upper().replace("-", "_"),
            )
            if variable != "-":
                credentials[field.name] = EnvironmentReference(variable)
                continue
        credentials[field.name] = _ask(field)
    return credentials


def _ask(field: CredentialField) -> Secret:
    echo(field.hint, err=True)
    return Secret(typer.prompt(field.name, hide_input=True, err=True).strip())


def _credential(text: str, definition: ConnectorDefinition, *, asks: bool) -> tuple[str, NewCredential]:
    name, _, how = text.partition("=")
    fields = {field.name: field for field in definition.credentials}
    if name not in fields:
        # What was given is not repeated: it may be the credential itself.
        raise typer.BadParameter(
            f"Before = stands a credential of {definition.connector_id}: {', '.join(fields)}. {_FORMS}",
            param_hint="--credential",
        )
    kind, _, target = how.partition(":")
    if kind == "env" and _VARIABLE.fullmatch(target):
        return name, EnvironmentReference(target)
    if kind == "file" and target:
        return name, FileReference(target)
    if how == "-":
        return name, _ask(fields[name]) if asks else Secret(sys.stdin.readline().strip())
    raise typer.BadParameter(
        f"{name} is not written on the command line, where other users and the shell's history see it. {_FORMS}",
        param_hint="--credential",
    )


def _setting(text: str) -> tuple[str, str | int | bool]:
    name, _, value = text.partition("=")
    if not name or not value:
        raise typer.BadParameter("Write NAME=VALUE.", param_hint="--configuration")
    try:
        read: object = json.loads(value)
    except ValueError:
        return name, value
    return name, read if isinstance(read, bool | int) else value
