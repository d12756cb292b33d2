"""`dexbridge config`: what an operator does with a connection file."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dexbridge.config import connection_file_schema
from dexbridge.console.commands.config_check import check
from dexbridge.console.commands.config_init import init
from dexbridge.console.commands.config_report import definitions
from dexbridge.console.commands.config_show import show
from dexbridge.console.encodings import echo

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
app.command()(check)
app.command()(init)
app.command()(show)


@app.command()
def schema(
    toml: Annotated[bool, typer.Option("--toml", help="For files written by hand, with references.")] = False,
) -> None:
    """Prints the JSON Schema of a connection file with every installed Connector, for editors."""
    echo(json.dumps(connection_file_schema(definitions(), toml=toml), indent=2))
