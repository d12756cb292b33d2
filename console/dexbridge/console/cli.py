"""The command `dexbridge`. Each sub-command lives in its own module and is imported only when it is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup

from dexbridge.console.encodings import echo, show_everything

# Name, module with a Typer called `app`, what `dexbridge --help` says of it.
COMMANDS: Final = (
    ("config", "dexbridge.console.commands.config", "Check, write and show connection files."),
    ("connectors", "dexbridge.console.commands.connectors", "List and show Connectors, and begin a new one."),
    ("chat", "dexbridge.console.commands.chat", "Talk to a session in the terminal."),
    ("sessions", "dexbridge.console.commands.sessions", "List and show sessions; approve, reject, settle calls."),
    ("serve", "dexbridge.console.commands.serve", "Serve the session routes and the page for operators."),
    ("worker", "dexbridge.console.commands.worker", "Run the Steps of sessions, without serving anything."),
    ("graph", "dexbridge.console.commands.graph", "Draw the Steps and how they follow one another."),
)

_READER_GONE: Final = 141
"""As a shell reports SIGPIPE. The signal itself would end a server whenever a client goes away."""


class _Commands(TyperGroup):
    """Every command ends quietly when what it writes to is closed, as in `dexbridge sessions list | head -1`."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # What is still buffered would fail once more when the interpreter ends.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in (sys.stdout, sys.stderr):
                os.dup2(nowhere, stream.fileno())
            sys.exit(_READER_GONE)


def build_app(arguments: Sequence[str]) -> typer.Typer:
    """The command line for these arguments: only the sub-command they name is imported."""
    app = typer.Typer(
        name="dexbridge",
        cls=_Commands,
        help="Connector operations as durable tools of Claude agents.",
        no_args_is_help=True,
        add_completion=False,
        # A printed traceback with locals is where secrets leak; Python's own has none.
        pretty_exceptions_enable=False,
    )
    asked = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name, module, about in COMMANDS:
        sub: typer.Typer = import_module(module).app if name == asked else typer.Typer()
        app.add_typer(sub, name=name, help=about)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; ends the process with its exit code."""
    show_everything(sys.stdout, sys.stderr)
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app = build_app(given)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("dexbridge"):
            raise
        echo(f"{missing.name} is not installed. Install all parts: pip install 'dexbridge[all]'", err=True)
        sys.exit(2)
    app(args=given)
