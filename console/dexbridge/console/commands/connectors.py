"""`dexbridge connectors`: which Connectors are installed, what they can do, and a new one to begin with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from dexbridge.connectors import (
    ConnectorDefinition,
    CredentialField,
    InstalledConnector,
    Operation,
    OperationKind,
    survey_connectors,
)
from dexbridge.console.commands.connectors_new import new
from dexbridge.console.encodings import echo

JSON_VERSION: Final = 1
"""Of what `--json` prints; it changes when a field changes its meaning or goes."""

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
app.command()(new)

_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, with a version field.")]


@app.command("list")
def list_connectors(*, as_json: _AsJson = False) -> None:
    """Lists the installed Connectors. Ends with 1 when a package's Connector cannot be used."""
    found = survey_connectors()
    if as_json:
        rows = [
            {
                "connector_id": one.connector_id,
                "title": one.definition.title if one.definition else None,
                "package": one.package,
                "operations": [operation.operation_id for operation in _operations(one)],
                "fault": one.fault or None,
            }
            for one in found
        ]
        echo(json.dumps({"version": JSON_VERSION, "connectors": rows}, indent=2))
    else:
        width = max(len(one.connector_id) for one in found)
        for one in found:
            about = ", ".join(operation.operation_id for operation in _operations(one)) or "cannot be used"
            echo(f"{one.connector_id:<{width}}  {about}  ({one.package or 'built in'})")
    broken = [one for one in found if one.definition is None]
    for one in broken:
        echo(f"error: {one.fault}", err=True)
    raise typer.Exit(1 if broken else 0)


@app.command()
def show(
    connector: Annotated[str, typer.Argument(help="The Connector's ID, such as slack.")], *, as_json: _AsJson = False
) -> None:
    """Shows a Connector's operations, effects, approvals, credentials, scopes and branches."""
    found = [one for one in survey_connectors() if one.connector_id == connector]
    usable = next((one.definition for one in found if one.definition is not None), None)
    if usable is None:
        known = ", ".join(dict.fromkeys(one.connector_id for one in survey_connectors()))
        fault = found[0].fault if found else f"No Connector {connector!r} is installed; known are: {known}."
        echo(f"error: {fault}", err=True)
        raise typer.Exit(2)
    if as_json:
        echo(json.dumps({"version": JSON_VERSION, **_to_json(usable)}, indent=2))
    else:
        for line in _lines(usable):
            echo(line)


def effect_of(operation: Operation) -> str:
    """What an operation does at the provider, as agents' tools are judged by it."""
    if operation.kind is OperationKind.QUERY:
        return "read"
    return "idempotent write" if operation.safe_to_retry else "non-idempotent write"


def _operations(one: InstalledConnector) -> tuple[Operation, ...]:
    return one.definition.operations if one.definition else ()


def _to_json(definition: ConnectorDefinition) -> dict[str, Any]:
    return {
        "connector_id": definition.connector_id,
        "title": definition.title,
        "configuration": definition.configuration.model_json_schema(),
        "credentials": [
            {"name": one.name, "title": one.title, "pattern": one.pattern, "hint": one.hint, "required": one.required}
            for one in definition.credentials
        ],
        "operations": [_operation_to_json(one) for one in definition.operations],
    }


def _operation_to_json(operation: Operation) -> dict[str, Any]:
    return {
        "operation_id": operation.operation_id,
        "tool_name": operation.tool_name,
        "title": operation.title,
        "description": operation.description,
        "effect": effect_of(operation).replace(" ", "_").replace("-", "_"),
        "exposed_to_agents": operation.exposed_to_agents,
        "recommends_approval": operation.recommends_approval,
        "can_reconcile": operation.can_reconcile,
        "credentials": list(operation.credentials),
        "reconcile_credentials": list(_reconcile_credentials(operation)),
        "stand_ins": dict(operation.stand_ins),
        "scopes": {name: list(scopes) for name, scopes in operation.scopes.items()},
        "timeout_seconds": operation.timeout.total_seconds(),
        "reconcile_timeout_seconds": operation.reconcile_timeout.total_seconds(),
        "branches": [
            {"id": branch.id, "outcome": branch.outcome.value, "description": branch.description}
            for branch in operation.branches
        ],
    }


def _reconcile_credentials(operation: Operation) -> tuple[str, ...]:
    return (operation.reconcile_credentials or operation.credentials) if operation.can_reconcile else ()


def _lines(definition: ConnectorDefinition) -> Iterator[str]:
    yield f"{definition.title} ({definition.connector_id})"
    yield ""
    yield "Configuration"
    for name, field in definition.configuration.model_fields.items():
        default = "" if field.is_required() else f" Default: {json.dumps(field.default)}."
        yield f"  {field.alias or name}: {field.description or field.title or 'not described.'}{default}"
    yield ""
    yield "Credentials"
    yield from (f"  {_credential_line(one)}" for one in definition.credentials)
    for operation in definition.operations:
        yield ""
        yield from _operation_lines(operation)


def _credential_line(credential: CredentialField) -> str:
    need = ", required" if credential.required else ""
    return f"{credential.name} ({credential.title}{need}): {credential.hint}"


def _operation_lines(operation: Operation) -> Iterator[str]:
    yield f"{operation.operation_id}  (tool {operation.tool_name})"
    yield f"  {operation.description}"
    yield f"  effect:      {effect_of(operation)}"
    yield f"  approval:    {'recommended' if operation.recommends_approval else 'only if the application asks for it'}"
    yield f"  credentials: {_with_scopes(operation, operation.credentials)}"
    if operation.can_reconcile:
        needed = _with_scopes(operation, _reconcile_credentials(operation))
        yield f"  after an unknown outcome it can be looked up with {needed}"
    if not operation.exposed_to_agents:
        yield "  not offered to agents"
    yield "  branches:"
    width = max(len(branch.id) for branch in operation.branches)
    for branch in operation.branches:
        yield f"    {branch.id:<{width}}  {branch.outcome.value:<15}  {branch.description}"


def _with_scopes(operation: Operation, credentials: tuple[str, ...]) -> str:
    return ", ".join(_with_scope(operation, name) for name in credentials) or "none"


def _with_scope(operation: Operation, credential: str) -> str:
    stand_in = operation.stand_ins.get(credential)
    named = credential if stand_in is None else f"{credential} or else {stand_in}"
    scopes = operation.scopes.get(credential)
    return f"{named} ({', '.join(scopes)})" if scopes else named
