"""What a terminal's encoding cannot show or read must not end a command: a decision may hang on it."""

from __future__ import annotations

import io
import sys
from typing import TextIO

import typer

__all__ = ["echo", "show_everything", "take_everything", "typed"]


def show_everything(*streams: TextIO) -> None:
    r"""Makes streams write what their encoding lacks as `\u27e8` instead of failing; ASCII and Latin-1 lack much."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def take_everything(stream: TextIO) -> None:
    """Makes a stream read bytes its encoding does not know; `typed` makes text of them."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="surrogateescape")


def typed(text: str) -> str:
    r"""What a person typed, also on a command line: bytes their encoding does not know as UTF-8, else as `\xe9`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def echo(text: str, *, err: bool = False, nl: bool = True, color: bool | None = None) -> None:
    """Prints as `typer.echo` does, in the stream's own encoding: that one writes UTF-8 to an ASCII terminal."""
    typer.echo(text, file=sys.stderr if err else sys.stdout, nl=nl, color=color)
