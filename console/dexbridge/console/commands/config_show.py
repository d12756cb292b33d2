"""`dexbridge config show`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from dexbridge.config import Diagnostic, InspectedConnection, Sealed, inspect_file
from dexbridge.config.telling.redaction import redacted
from dexbridge.console.commands.config_report import chosen_file, definitions, exit_code, render, summary, wants_colour
from dexbridge.console.encodings import echo


def show(
    file: Annotated[
        Path | None,
        typer.Argument(readable=False, help="The connection file; else DEX_CONNECTOR_CONFIG_FILE names it."),
    ] = None,
) -> None:
    """Shows what a connection file holds, without any credential."""
    path = chosen_file(file)
    if isinstance(path, Diagnostic):
        diagnostics: tuple[Diagnostic, ...] = (path,)
    else:
        inspection = inspect_file(path, Sealed[Mapping[str, str]](os.environ), definitions())
        diagnostics = inspection.diagnostics
        for connection in inspection.connections:
            for line in _lines(connection):
                echo(line)
    colour = wants_colour()
    for line in render(diagnostics, colour=colour):
        echo(line, color=colour, err=True)
    if diagnostics:
        echo(summary(diagnostics), err=True)
    raise typer.Exit(exit_code(diagnostics, strict=False))


def _lines(connection: InspectedConnection) -> Iterator[str]:
    yield redacted(connection.reference.connector_id) + "/" + redacted(connection.reference.connection_name)
    yield f"  configuration: {json.dumps(redacted(connection.configuration))}"
    if not (connection.credentials.secrets or connection.credentials.unusable):
        yield "  credentials: none"
    for name in connection.credentials.secrets:
        origin = connection.credentials.origins.get(name)
        yield f"  credential {redacted(name)}: set{', from ' + origin if origin else ''}"
    for name in connection.credentials.unusable:
        yield f"  credential {redacted(name)}: there, and cannot be used"
    if connection.expires_at is not None:
        yield f"  credentials expire at: {connection.expires_at.isoformat()}"
    if connection.reauthorization_required:
        yield "  credentials have to be authorized again"
