"""`dexbridge config check`."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from dexbridge.config import (
    Diagnostic,
    LiveResult,
    NeededScopes,
    Project,
    Sealed,
    check_live,
    check_offer,
    inspect_file,
    report,
    scopes_of_offer,
)
from dexbridge.connectors import (
    ConnectionReference,
    ConnectorDefinition,
    Operation,
)
from dexbridge.console.commands.config_report import chosen_file, exit_code, installed, render, summary, wants_colour
from dexbridge.console.encodings import echo


@dataclass(frozen=True)
class _Offer:
    """An operation given with `--offer`."""

    operation: Operation
    reference: ConnectionReference


def check(
    file: Annotated[
        Path | None,
        typer.Argument(readable=False, help="The connection file; else DEX_CONNECTOR_CONFIG_FILE names it."),
    ] = None,
    *,
    live: Annotated[bool, typer.Option("--live", help="Ask each provider whether its credentials work.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 when there are warnings.")] = False,
    offer: Annotated[
        list[str] | None,
        typer.Option(help="CONNECTOR/CONNECTION/OPERATION the application offers, such as slack/main/postThreadReply."),
    ] = None,
    deadline: Annotated[float, typer.Option(help="Seconds for all live checks together.", min=0.1)] = 20.0,
) -> None:
    """Checks a connection file: 0 all is well, 1 warnings under --strict, 2 faults."""
    connectors, broken = installed()
    offers = _offers(offer or [], connectors)
    path = chosen_file(file)
    results: tuple[LiveResult, ...] | None = None
    names: list[str] = []
    unasked: list[tuple[ConnectionReference, NeededScopes]] = []
    if isinstance(path, Diagnostic):
        diagnostics, path = [path], ""
    else:
        environment = Sealed[Mapping[str, str]](os.environ)
        inspection = inspect_file(path, environment, connectors)
        diagnostics = list(inspection.diagnostics)
        names = [str(one.reference) for one in inspection.connections]
        if not inspection.errors:
            project = Project(inspection, environment, connectors)
            for one in offers:
                diagnostics += check_offer(project, one.operation.tool_name, one)
            if not live:
                unasked = [(one.reference, need) for one in offers for need in scopes_of_offer(project, one)]
            else:
                results, faults = asyncio.run(_ask(project, deadline, offers))
                diagnostics += faults
    diagnostics = [*broken, *diagnostics]
    if as_json:
        rows = None if results is None else [result.to_json() for result in results]
        needs = [need.to_json(reference) for reference, need in unasked]
        echo(json.dumps(report(path, diagnostics, live=rows, unasked=needs), indent=2))
    else:
        _print(path, diagnostics, names, live_skipped=live and results is None)
        if unasked:
            echo("The providers were not asked whether these scopes are there; --live asks:")
        for reference, need in unasked:
            echo(f"  {reference}, {need}")
    raise typer.Exit(exit_code(diagnostics, strict=strict))


def _print(path: str, diagnostics: list[Diagnostic], names: list[str], *, live_skipped: bool) -> None:
    colour = wants_colour()
    for line in render(diagnostics, colour=colour):
        echo(line, color=colour)
    if live_skipped:
        echo("The providers were not asked; mend the file first.")
    if diagnostics:
        echo(f"{summary(diagnostics)}{' in ' + path if path else ''}")
    else:
        echo(f"{path} is well: {len(names)} connection{'' if len(names) == 1 else 's'}: {', '.join(names)}")


def _offers(texts: Sequence[str], connectors: Mapping[str, ConnectorDefinition]) -> list[_Offer]:
    offers: list[_Offer] = []
    for text in texts:
        connector_id, _, rest = text.partition("/")
        name, _, operation_id = rest.rpartition("/")
        definition = connectors.get(connector_id)
        if definition is None or not name:
            known = ", ".join(connectors)
            raise typer.BadParameter(
                f"Write CONNECTOR/CONNECTION/OPERATION; Connectors are {known}.", param_hint="--offer"
            )
        try:
            operation = definition.operation(operation_id)
        except LookupError as absent:
            known = ", ".join(one.operation_id for one in definition.operations)
            raise typer.BadParameter(f"{absent} It has {known}.", param_hint="--offer") from None
        offers.append(_Offer(operation, ConnectionReference(connector_id, name)))
    return offers


async def _ask(
    project: Project, deadline: float, offers: list[_Offer]
) -> tuple[tuple[LiveResult, ...], tuple[Diagnostic, ...]]:
    offered: dict[ConnectionReference, list[Operation]] = {}
    for one in offers:
        offered.setdefault(one.reference, []).append(one.operation)
    count = len(project.references)
    echo(f"Asking the provider{'s' if count > 1 else ''} of {count} connection{'s' if count > 1 else ''} …", err=True)

    def tell(result: LiveResult) -> None:
        if result.check is None or not result.check.ok:
            # What the provider says is in the report.
            echo(f"  {result.reference} does not work", err=True)
            return
        account = f" as {result.check.account}" if result.check.account else ""
        echo(f"  {result.reference} works{account}: {result.message}", err=True)

    async with project:
        return await check_live(project, deadline=deadline, offered=offered or None, progress=tell)
