"""The terminal: what is printed in it, and what a person is asked.

Text from outside cannot steer it, and what its encoding lacks is written out.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, TextIO

from dexbridge.console.encodings import show_everything, take_everything, typed
from dexbridge.console.shown.text import exact_plain, plain
from dexbridge.console.shown.timeline import StepLine
from dexbridge.console.shown.wording import call_title, decision_words, instant, outcome_label, settled_words
from dexbridge.sessions import CallRecord, Interrupt, Role, SessionSnapshot

__all__ = ["Terminal"]

_BOLD: Final = "1"
_COLOURS: Final[Mapping[str, str]] = {
    "done": "32",
    "failed": "31",
    "rejected": "31",
    "unknown": "1;31",
    "waiting": "33",
    "running": "34",
}
_ANSWERS: Final[Mapping[str, bool]] = {"y": True, "yes": True, "n": False, "no": False}


class Terminal:
    """Prints, and asks. Colour and the line of progress only in a terminal; `NO_COLOR` and `TERM=dumb` are kept to.

    Args:
        output: Where it prints.
        source: Where answers come from.
    """

    def __init__(self, output: TextIO | None = None, source: TextIO | None = None) -> None:
        self._output = sys.stdout if output is None else output
        self._source = sys.stdin if source is None else source
        show_everything(self._output)
        take_everything(self._source)
        self.is_terminal = self._output.isatty()
        """Whether a person reads it."""
        self.can_ask = self._source.isatty()
        """Whether a person can answer."""
        self._colour = self.is_terminal and os.environ.get("TERM") != "dumb" and "NO_COLOR" not in os.environ
        self._progress = ""

    def say(self, text: str = "", *, style: str = "") -> None:
        """A line, or several. Whatever could steer the terminal is written out.

        Lines after the first are indented under it, so that no text from outside can begin a line as we do.
        """
        self.clear()
        margin = " " * (len(text) - len(text.lstrip(" ")) + 4)
        shown = plain(text).replace("\n", f"\n{margin}")
        print(f"\x1b[{style}m{shown}\x1b[0m" if style and self._colour else shown, file=self._output, flush=True)

    def title(self, text: str) -> None:
        """A line that stands out."""
        self.say(text, style=_BOLD)

    def json(self, value: object) -> None:
        """A JSON document for a script."""
        print(json.dumps(value, indent=2), file=self._output, flush=True)

    def progress(self, text: str, since: float) -> None:
        """What goes on now, on a line that is written over; nothing outside a terminal."""
        if not self.is_terminal:
            return
        line = f"… {plain(text)}, {time.monotonic() - since:.0f} s"
        self._output.write("\r" + line.ljust(len(self._progress)))
        self._output.flush()
        self._progress = line

    def clear(self) -> None:
        """Takes the line of progress away."""
        if self._progress:
            self._output.write("\r" + " " * len(self._progress) + "\r")
            self._progress = ""

    def step(self, line: StepLine) -> None:
        """One Step."""
        facts = [line.step_id, line.duration, "" if line.attempts is None else f"attempts: {line.attempts}"]
        self.say(f"  [{line.label}] {line.title}", style=_COLOURS.get(line.state, ""))
        self.say(f"      {'  '.join(fact for fact in facts if fact)}")
        if line.note:
            self.say(f"      {line.note}")
        if line.call_id:
            self.say(f"      Call ID {line.call_id}")
        for name, value in line.receipt:
            self.say(f"      {name} {value}")
        if line.link:
            self.say(f"      {line.link}")

    def said(self, snapshot: SessionSnapshot, *, since: int = 0) -> None:
        """What the agent said in the turn that is under way, in the messages from that number on."""
        for message in snapshot.messages[since:]:
            if message.role is Role.ASSISTANT and message.turn == snapshot.state.turn:
                self.say(f"agent: {message.text}")

    def interrupt(self, interrupt: Interrupt) -> None:
        """A call that waits, exactly as it would be made."""
        self.title(f"Waits for approval: {call_title(interrupt.tool, interrupt.connection, interrupt.arguments)}")
        self._call(interrupt.tool, interrupt.connection, interrupt.arguments)
        self.say(f"  interrupt   {interrupt.interrupt_id}")

    def unknown(self, call: CallRecord) -> None:
        """A call nobody knows the outcome of."""
        title = call_title(call.tool, call.connection, call.arguments)
        self.say(f"OUTCOME UNKNOWN: {title}", style=_COLOURS["unknown"])
        self.say("  It may have been sent, and it is not sent again. Look at the provider, then settle it.")
        self._facts(call)

    def call(self, call: CallRecord) -> None:
        """A call that is over, whole: what was asked for, who decided, and what became of it."""
        self.title(f"Call: {call_title(call.tool, call.connection, call.arguments)}")
        self._facts(call)

    def _facts(self, call: CallRecord) -> None:
        self._call(call.tool, call.connection, call.arguments)
        self.say(f"  step        {call.step_execution_id}, turn {call.turn}")
        self.say(f"  decision    {decision_words(call)}")
        self.say(f"  outcome     {outcome_label(call.outcome.value)}, {instant(call.ended_at)}")
        if call.settled_by is not None:
            self.say(f"  settled     {settled_words(call)}")
        if call.call_id:
            self.say(f"  Call ID     {call.call_id}, attempts: {call.attempts}")
        if call.receipt:
            self._document("receipt", call.receipt)
        self.say(f"  said        {call.text}")

    async def ask(self, question: str) -> str | None:
        """A line from the person; `None` at the end of input."""
        self.clear()
        self._output.write(question)
        self._output.flush()
        return await self.read_line()

    async def confirm(self, question: str) -> bool | None:
        """Whether the person says yes or no, asked again until it is one of them; `None` at the end of input."""
        while (answer := await self.ask(f"{question} [y/n] ")) is not None:
            decided = _ANSWERS.get(answer.strip().lower())
            if decided is not None:
                return decided
            self.say("Answer y or n.")
        self.say()
        return None

    async def read_line(self) -> str | None:
        """The next line of input, without its end; `None` when there is none."""
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        try:
            # Not in a thread: one that waits for input could not be ended with Ctrl-C.
            loop.add_reader(self._source, readable.set)
        except (OSError, ValueError):
            line = self._source.readline()  # a file, which is always readable
        else:
            try:
                await readable.wait()
            finally:
                loop.remove_reader(self._source)
            line = self._source.readline()
        return typed(line.removesuffix("\n")) if line else None

    def forget_typed(self) -> None:
        """Drops what was typed and not read: an answer to a question that is gone must not answer the next."""
        if self.can_ask:
            termios.tcflush(self._source, termios.TCIFLUSH)

    def _call(self, tool: str, connection: str | None, arguments: Mapping[str, Any]) -> None:
        self.say(f"  tool        {exact_plain(tool)}")
        self.say(f"  connection  {exact_plain(connection or 'none, a function of the application')}")
        self._document("arguments", arguments)

    def _document(self, label: str, value: Mapping[str, Any]) -> None:
        for number, line in enumerate(exact_plain(json.dumps(value, indent=2, ensure_ascii=False)).split("\n")):
            self.say(f"  {'' if number else label:<12}{line}")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as they need to be; the last one is left to its own length."""
        safe = [[plain(cell).replace("\n", " ") for cell in row] for row in rows]
        widths = [max(len(row[column]) for row in safe) for column in range(len(safe[0]))] if safe else []
        for row in safe:
            self.say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
