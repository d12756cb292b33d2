"""What the demo prints, and how it asks. Plain text, at most 80 columns where the content allows."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from collections.abc import Iterable
from typing import Final, TextIO

from dexbridge.console.encodings import show_everything, take_everything, typed
from dexbridge.console.shown.text import exact_plain

_WIDTH: Final = 78
_LABEL: Final = 12


class Screen:
    """Standard output, in one voice.

    Args:
        output: Where it goes; bold only when that is a terminal.
    """

    def __init__(self, output: TextIO | None = None) -> None:
        self._output = sys.stdout if output is None else output
        show_everything(self._output)
        take_everything(sys.stdin)
        dumb = os.environ.get("TERM") == "dumb" or "NO_COLOR" in os.environ
        self._bold = self._output.isatty() and not dumb

    def title(self, text: str) -> None:
        """A heading with an empty line around it."""
        shown = exact_plain(text)
        self._write(f"\n\x1b[1m{shown}\x1b[0m\n" if self._bold else f"\n{shown}\n")

    def say(self, text: str) -> None:
        """A paragraph, wrapped."""
        self._write(_wrap(text, "", ""))

    def fact(self, label: str, text: str) -> None:
        """A label and what belongs to it, wrapped under itself."""
        self._write(_wrap(text, f"  {label:<{_LABEL}}", " " * (_LABEL + 2)))

    def exact(self, label: str, text: str) -> None:
        """A label and lines that must be read as they are; a long line is left to the terminal."""
        indent = " " * (_LABEL + 2)
        first, *others = exact_plain(text).split("\n")
        self._write("\n".join([f"  {label:<{_LABEL}}{first}", *(indent + line for line in others)]))

    def step(self, execution_id: str, milliseconds: float, what: str, details: Iterable[str] = ()) -> None:
        """One Step that was committed."""
        self._write(_wrap(what, f"  {execution_id:<26}{_duration(milliseconds):>9}  ", " " * 39))
        for detail in details:
            self._write(f"      {exact_plain(detail)}")

    def gap(self) -> None:
        """An empty line."""
        self._write("")

    async def ask(self, question: str) -> str | None:
        """A line from the person at the terminal; `None` at the end of input."""
        self._output.write(question)
        self._output.flush()
        # Not in a thread: a thread that waits for input could not be ended with Ctrl-C.
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(sys.stdin, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(sys.stdin)
        line = sys.stdin.readline()
        if not line.endswith("\n"):
            self._write("")
        return typed(line.strip()) if line else None

    def _write(self, text: str) -> None:
        print(text, file=self._output, flush=True)


def _wrap(text: str, first: str, others: str) -> str:
    lines: list[str] = []
    for line in exact_plain(text).split("\n"):
        prefix = others if lines else first
        lines += textwrap.wrap(
            line,
            _WIDTH,
            initial_indent=prefix,
            subsequent_indent=others,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [prefix.rstrip()]
    return "\n".join(lines)


def _duration(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"
