"""What several commands share: which database, whether it is there, and errors as one line."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dexbridge.config import ConfigurationError
from dexbridge.connectors import ConnectorError
from dexbridge.console.encodings import echo
from dexbridge.console.flows import DEFAULT_APP, CannotLoad
from dexbridge.console.shown.text import plain
from dexbridge.console.web.serving import UnsafeBind
from dexbridge.sessions import SessionError, WorkerAlreadyRunning
from dexbridge.toolsource import ToolSourceError

__all__ = ["DEFAULT_URL", "AppOption", "JsonOption", "UrlOption", "check_database", "run"]

DEFAULT_URL: Final = "sqlite:///.dexbridge/sessions.db"
_SQLITE: Final = "sqlite:///"
_SAID_PLAINLY: Final = (
    CannotLoad,
    ConfigurationError,
    ConnectorError,
    OSError,
    SessionError,
    ToolSourceError,
    UnsafeBind,
)

UrlOption = Annotated[
    str,
    typer.Option("--url", envvar="DEX_ENGINE_URL", help="The sessions' database: sqlite:///path or postgresql://…"),
]
AppOption = Annotated[
    str,
    typer.Option("--app", help=f"module:function that gives the application's flows, such as {DEFAULT_APP}"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]


def check_database(url: str) -> None:
    """Passes unless the URL names an SQLite file that is not there: a command that only looks makes none.

    Raises:
        typer.Exit: 2, after saying so.
    """
    if url.startswith(_SQLITE) and not Path(url.removeprefix(_SQLITE)).exists():
        echo(
            f"There is no database {plain(url)}: name it with --url or DEX_ENGINE_URL, or start a session first "
            "(dexbridge chat, dexbridge serve).",
            err=True,
        )
        raise typer.Exit(2)


def run(work: Coroutine[Any, Any, int]) -> None:
    """Runs a command to its exit code. What the rooms say about a mistake is printed as one line, with exit code 2.

    Raises:
        BrokenPipeError: Nobody reads what it prints.
    """
    try:
        code = asyncio.run(work)
    except WorkerAlreadyRunning:
        echo(
            "Another process runs the Steps of this SQLite database already: stop it, serve beside it with "
            "`dexbridge serve --no-worker`, or name another database with --url or DEX_ENGINE_URL.",
            err=True,
        )
        code = 2
    except BrokenPipeError:
        raise  # `cli` ends every command whose reader is gone
    except _SAID_PLAINLY as error:
        echo(plain(str(error)), err=True)
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
