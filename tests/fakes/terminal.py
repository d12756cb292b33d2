"""`dexbridge config init` on a terminal, with somebody who types."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

PROGRAM = "import sys; from dexbridge.console.cli import main; main(sys.argv[1:])"


def typed(path: Path, *answers: str) -> str:
    """What the terminal shows while the answers are typed; the command has to end well."""
    said = b""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM, "config", "init", str(path)])
    for answer in answers:
        said += _until_a_prompt(terminal)
        os.write(terminal, answer.encode() + b"\n")
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, said
    return said.decode()


def _until_a_prompt(terminal: int) -> bytes:
    said = b""
    while not said.endswith(b": "):  # the blank comes once the echo is off
        said += os.read(terminal, 4096)
    return said
