"""What `dexbridge config init` asks on a terminal: operations first, then what those need."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

import typer

from dexbridge.config import EnvironmentReference, NewCredential, is_token, may_show_variable
from dexbridge.connectors import ConnectorDefinition, CredentialField, Operation, Secret
from dexbridge.console.encodings import echo


def ask_connector(connectors: Mapping[str, ConnectorDefinition]) -> ConnectorDefinition:
    """Asks for a Connector until an installed one is named."""
    known = ", ".join(connectors)
    while True:
        definition = connectors.get(typer.prompt(f"Connector ({known})", default=next(iter(connectors))).strip())
        if definition is not None:
            return definition
        echo(f"That is not an installed Connector; they are {known}.", err=True)


def ask_name() -> str:
    """Asks for a connection's name; a token is not taken for one."""
    while True:
        name = typer.prompt("Name of the connection", default="main").strip()
        if name and not is_token(name):
            return name
        echo("That is a token; names are shown and stored. Write a name such as support-slack.", err=True)


def ask_operations(definition: ConnectorDefinition) -> tuple[Operation, ...]:
    """Asks which operations the application offers; all of them unless some are named."""
    known = {one.operation_id: one for one in definition.operations}
    if len(known) < 2:
        return definition.operations
    while True:
        given = typer.prompt(f"Operations to use, with commas ({', '.join(known)})", default="all")
        chosen = [one for one in re.split(r"[\s,]+", given) if one]
        if chosen == ["all"]:
            return definition.operations
        if chosen and all(one in known for one in chosen):
            return tuple(known[one] for one in chosen)
        echo(f"Not all of these are operations of {definition.connector_id}.", err=True)


def needed_by(operations: Iterable[Operation]) -> dict[str, list[str]]:
    """The credentials operations need, each with the IDs of those that need it."""
    needed: dict[str, list[str]] = {}
    for operation in operations:
        for name in operation.credentials:
            needed.setdefault(name, []).append(operation.operation_id)
    return needed


def ask_credentials(
    definition: ConnectorDefinition, operations: tuple[Operation, ...], *, toml: bool
) -> dict[str, NewCredential]:
    """Asks for what the operations need, then whether others are to be set."""
    needed = needed_by(operations)
    for name, users in needed.items():
        echo(f"{name} is needed by {', '.join(users)}.")
    credentials: dict[str, NewCredential] = {}
    others = [field for field in definition.credentials if not (field.required or field.name in needed)]
    for field in definition.credentials:
        if field not in others:
            credentials[field.name] = _ask_one(definition, field, toml=toml)
    names = ", ".join(field.name for field in others)
    if others and typer.confirm(f"Set others too ({names})?", default=False):
        for field in others:
            if typer.confirm(f"Set {field.name} ({field.title})?", default=False):
                credentials[field.name] = _ask_one(definition, field, toml=toml)
    return credentials


def _ask_one(definition: ConnectorDefinition, field: CredentialField, *, toml: bool) -> NewCredential:
    if not toml:
        return ask_secret(field)
    usual = f"{definition.connector_id}_{field.name}".upper().replace("-", "_")
    while True:
        # Not shown while it is typed: here is where people paste the token itself.
        given = typer.prompt(
            f"{field.name}: environment variable that holds it, - to type the value; not shown [{usual}]",
            default=usual,
            hide_input=True,
            show_default=False,
        ).strip()
        if given == "-":
            return ask_secret(field)
        # A name of capital letters is one, whatever the Connector takes for its credential.
        fits = not given.isupper() and field.pattern is not None and re.fullmatch(field.pattern, given)
        if may_show_variable(given) and not fits:
            echo(f"{field.name} is taken from the environment variable {given}.")
            return EnvironmentReference(given)
        echo("That is no variable's name, and it was not kept. Write a name such as the one in brackets.", err=True)


def ask_secret(field: CredentialField) -> Secret:
    """Asks for a credential without showing it, until it has the right form."""
    while True:
        echo(field.hint, err=True)
        given = typer.prompt(field.name, hide_input=True, err=True).strip()
        if field.pattern is None or re.fullmatch(field.pattern, given):
            return Secret(given)
        echo(f"{field.name} does not have the right form.", err=True)


def nearest(given: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name; empty when nothing is like it."""
    near = difflib.get_close_matches(given, tuple(known), n=1)
    return f" Is {near[0]} meant?" if near else ""
