"""`dexbridge graph`: the Steps of a session and how they follow one another, from the code's own table."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dexbridge.console.encodings import echo
from dexbridge.sessions.steps.step_graph import graph_json, graph_mermaid

app = typer.Typer(invoke_without_command=True, subcommand_metavar="", pretty_exceptions_enable=False)


class GraphFormat(StrEnum):
    """What is written."""

    MERMAID = "mermaid"
    JSON = "json"


@app.callback()
def graph(
    graph_format: Annotated[GraphFormat, typer.Option("--format", help="What to write.")] = GraphFormat.MERMAID,
    out: Annotated[Path | None, typer.Option("--out", help="A file; by default the terminal.")] = None,
) -> None:
    """Writes the session graph. Dex Web's own rendering format is not public, so it is not written."""
    text = graph_mermaid() if graph_format is GraphFormat.MERMAID else json.dumps(graph_json(), indent=2) + "\n"
    if out is None:
        echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
