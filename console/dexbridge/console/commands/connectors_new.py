"""`dexbridge connectors new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dexbridge.connectors.scaffold import InvalidScaffold, write_scaffold
from dexbridge.console.encodings import echo


def new(
    name: Annotated[str, typer.Argument(help="The Connector's ID, such as acme-notes.")],
    *,
    directory: Annotated[
        Path | None, typer.Option(help="Where to write; absent or empty. Default: ./dexbridge-NAME.")
    ] = None,
) -> None:
    """Writes a small, complete Connector package that passes its own tests."""
    folder = directory if directory is not None else Path(f"dexbridge-{name}")
    try:
        written = write_scaffold(name, folder)
    except InvalidScaffold as refused:
        echo(f"error: {refused}", err=True)
        raise typer.Exit(2) from None
    for path in written:
        echo(f"wrote {path}")
    echo(f"Next: cd {folder} && pip install --editable . --group dev && pytest (--group needs pip 25.1 or newer)")
