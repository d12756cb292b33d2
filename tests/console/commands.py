"""`dexbridge` as a person and as a script run it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.console.processes import ROOT, SCRIPTED, environment

Answer = str | Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Run:
    code: int | None
    output: str
    errors: str


@dataclass(frozen=True)
class Commands:
    """`dexbridge` on one database.

    Attributes:
        url: Of the database.
        more: Set in the environment of each.
        under: Command the commands are given to, such as `setpriv`.
        encoding: What a terminal sends and shows.
    """

    url: str
    more: Mapping[str, str] = field(default_factory=dict[str, str])
    under: Sequence[str] = ()
    encoding: str = "utf-8"

    async def run(self, *arguments: str, given: str = "") -> Run:
        process = await asyncio.create_subprocess_exec(
            *self.command(arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env=environment(DEX_ENGINE_URL=self.url, **self.more),
        )
        async with asyncio.timeout(40):
            output, errors = await process.communicate(given.encode(self.encoding))
        return Run(process.returncode, output.decode(self.encoding), errors.decode(self.encoding))

    async def in_terminal(self, *arguments: str, answers: Sequence[tuple[str, Answer]]) -> Run:
        """Each answer is typed, or awaited, when its prompt is on the screen; then the input ends."""
        ours, theirs = os.openpty()
        process = await asyncio.create_subprocess_exec(
            *self.command(arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            env=environment(DEX_ENGINE_URL=self.url, TERM="xterm", **self.more),
            start_new_session=True,
        )
        os.close(theirs)
        shown, waiting = bytearray(), list(answers)
        loop, more = asyncio.get_running_loop(), asyncio.Event()

        def read() -> None:
            try:
                shown.extend(os.read(ours, 65_536))
            except OSError:
                loop.remove_reader(ours)
            more.set()

        loop.add_reader(ours, read)
        try:
            async with asyncio.timeout(40):
                seen = 0
                for prompt, answer in waiting:
                    while (found := shown.find(prompt.encode(self.encoding), seen)) < 0:
                        more.clear()
                        await more.wait()
                    seen = found + len(prompt)
                    if isinstance(answer, str):
                        os.write(ours, answer.encode(self.encoding))
                    else:
                        await answer()
                await process.wait()
        finally:
            loop.remove_reader(ours)
            os.close(ours)
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Run(process.returncode, shown.decode(self.encoding), "")

    @asynccontextmanager
    async def worker(self) -> AsyncGenerator[asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            *self.command(["worker", "--app", SCRIPTED]),
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env=environment(DEX_ENGINE_URL=self.url, **self.more),
        )
        assert process.stdout is not None
        try:
            assert b"The Worker runs the sessions of Scripted." in await process.stdout.readline()
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0

    def command(self, arguments: Sequence[str]) -> list[str]:
        return [*self.under, sys.executable, "-m", "dexbridge.console", *arguments]

    async def pending(self) -> dict[str, object]:
        (line,) = json.loads((await self.run("sessions", "list", "--pending", "--json")).output)
        return line
