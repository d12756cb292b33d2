"""`dexbridge config init`."""

from __future__ import annotations

import json
import os
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
    absolute_path,
    inspect_file,
    is_token,
    may_show_variable,
    write_connection_file,
)
from dexbridge.connectors import ConnectorDefinition, Operation, Secret
from dexbridge.console.commands.config_questions import (
    ask_connector,
    ask_credentials,
    ask_name,
    ask_operations,
    ask_secret,
    nearest,
    needed_by,
)
from dexbridge.console.commands.config_report import chosen_file, definitions, exit_code, render, wants_colour
from dexbridge.console.encodings import echo

_DEFAULT_FILE: Final = Path("~/.dex/connectors/connections.toml")
_FORMS: Final = "Write NAME=env:VARIABLE, NAME=file:PATH, or NAME=- to be asked for the value."


def init(
    file: Annotated[Path | None, typer.Argument(readable=False, help="Where to write; .toml or .json.")] = None,
    *,
    connector: Annotated[str | None, typer.Option(help="The Connector, such as slack.")] = None,
    connection: Annotated[str | None, typer.Option(help="The connection's name, such as support-slack.")] = None,
    operation: Annotated[
        list[str] | None,
        typer.Option(help="An operation the application offers, such as postThreadReply; all of them unless told."),
    ] = None,
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
    name = connection or (ask_name() if asks else "")
    if not name.strip() or is_token(name):
        raise typer.BadParameter("Give the connection a name, such as support-slack.", param_hint="--connection")
    interactive = credential is None and asks
    operations = _operations(operation, definition, interactive=interactive)
    if interactive:
        credentials = ask_credentials(definition, operations, toml=path.endswith(".toml"))
    else:
        credentials = dict(_credential(text, definition, asks=asks) for text in credential or [])
    lacking = {one: users for one, users in needed_by(operations).items() if one not in credentials}
    if lacking and operation:
        said = "; ".join(f"{', '.join(users)} needs {one}" for one, users in lacking.items())
        raise typer.BadParameter(f"{said}. {_FORMS}", param_hint="--credential")
    new = NewConnection(
        definition.connector_id, name, dict(_setting(text) for text in configuration or []), credentials
    )
    try:
        write_connection_file(path, [new])
    except ConfigurationError as refused:
        echo(f"error: {refused}", err=True)
        raise typer.Exit(2) from None
    echo(f"Wrote {path} with mode 0600.")
    if credentials and not any(isinstance(one, Secret) for one in credentials.values()):
        mend = f"chmod 644 {shlex.quote(path)}"
        echo(f"It holds references only: where another user reads it, as in an image, run {mend}")
    inspection = inspect_file(path, Sealed[Mapping[str, str]](os.environ), connectors)
    colour = wants_colour()
    # A variable that is not set yet is no fault of what was written.
    faults = [one for one in inspection.diagnostics if one.code is not Code.CREDENTIAL_REFERENCE]
    for line in render(faults, colour=colour):
        echo(line, color=colour)
    for one in inspection.diagnostics:
        if one not in faults:
            echo(f"Not yet: {one.message} {one.mend}")
    for one, users in lacking.items():
        echo(f"Without {one}, these operations cannot be used: {', '.join(users)}.")
    echo(f"Next: export DEX_CONNECTOR_CONFIG_FILE={shlex.quote(path)} && dexbridge config check --live")
    raise typer.Exit(exit_code(faults, strict=False))


def _path(file: Path | None) -> str:
    chosen = chosen_file(file)
    if isinstance(chosen, Diagnostic):
        if chosen.code is not Code.NOT_CONFIGURED:
            echo(f"error: {chosen}", err=True)
            raise typer.Exit(2)
        return _default_file()
    return chosen


def _default_file() -> str:
    try:
        return absolute_path(_DEFAULT_FILE)
    except ConfigurationError:
        echo("error: There is no home folder here to write the file into. Name the file: config init FILE", err=True)
        raise typer.Exit(2) from None


def _connector(given: str | None, connectors: Mapping[str, ConnectorDefinition], *, asks: bool) -> ConnectorDefinition:
    if given is None and asks:
        return ask_connector(connectors)
    definition = connectors.get(given or "")
    if definition is None:
        hint = f"Name an installed Connector: {', '.join(connectors)}.{nearest(given or '', connectors)}"
        raise typer.BadParameter(hint, param_hint="--connector")
    return definition


def _operations(
    given: list[str] | None, definition: ConnectorDefinition, *, interactive: bool
) -> tuple[Operation, ...]:
    if not given:
        return ask_operations(definition) if interactive else definition.operations
    known = {one.operation_id: one for one in definition.operations}
    for one in given:
        if one not in known:
            hint = f"{definition.connector_id} has {', '.join(known)}.{nearest(one, known)}"
            raise typer.BadParameter(hint, param_hint="--operation")
    return tuple(known[one] for one in given)


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
    if kind == "env" and may_show_variable(target):
        return name, EnvironmentReference(target)
    if kind == "file" and target:
        return name, FileReference(target)
    if how == "-":
        return name, ask_secret(fields[name]) if asks else Secret(sys.stdin.readline().strip())
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
