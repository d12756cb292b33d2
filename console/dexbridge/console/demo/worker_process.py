"""The Worker as the demo holds it: a child that is started, killed, started again, and always ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from dexbridge.console.demo.errors import WorkerEnded

_READY_SECONDS: Final = 60
# A call that is under way may end and be recorded; the engine gives it 35 s.
_STOP_SECONDS: Final = 40
_LOOK_SECONDS: Final = 0.1
_SHOWN_LOG_LINES: Final = 15

T = TypeVar("T")


class WorkerProcess:
    """One Worker at a time, on one database.

    Args:
        url: The engine's URL.
        environment: All the Worker's environment.
        examples_root: The folder that holds `examples/`.
        folder: Where it works, and where its temporary files and its log go.
    """

    def __init__(self, url: str, environment: Mapping[str, str], examples_root: Path, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "worker.log"
        self._command = [sys.executable, "-m", "dexbridge.console.demo.worker", url]
        path = [str(examples_root), *filter(None, [environment.get("PYTHONPATH")])]
        self._environment = {**environment, "PYTHONPATH": os.pathsep.join(path), "TMPDIR": str(folder)}
        self._process: asyncio.subprocess.Process | None = None
        self._groups: list[int] = []
        self.flow_type = ""
        """The type of the sessions it runs, known once it was started."""

    @property
    def process_id(self) -> int:
        """Of the Worker that runs now."""
        assert self._process is not None, "the Worker was not started"
        return self._process.pid

    async def start(self) -> None:
        """Starts a Worker and waits until it serves.

        Raises:
            WorkerEnded: it ended before, or did not serve within a minute.
        """
        with self._log.open("ab") as log:
            # A group of its own: Ctrl-C is for the demo, which then ends the Worker and what the Worker started.
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=self._environment,
                cwd=self._folder,
                start_new_session=True,
            )
        self._process = process
        self._groups.append(process.pid)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(_READY_SECONDS):
                self.flow_type = (await process.stdout.readline()).decode().strip()
        except TimeoutError:
            raise WorkerEnded(f"The Worker did not serve within {_READY_SECONDS} s.{self._log_end()}") from None
        if not self.flow_type:
            raise WorkerEnded(f"The Worker ended before it served.{self._log_end()}")

    async def kill(self) -> int:
        """Sends SIGKILL to the Worker, and to nothing else; returns its process ID."""
        process, self._process = self._process, None
        assert process is not None, "the Worker was not started"
        process.kill()
        await process.wait()
        return process.pid

    async def while_it_runs(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits work that needs a Worker.

        Raises:
            WorkerEnded: the Worker ended by itself meanwhile.
        """
        task = asyncio.create_task(work)
        try:
            while not task.done():
                if self._process is not None and self._process.returncode is not None:
                    raise WorkerEnded(f"The Worker ended with code {self._process.returncode}.{self._log_end()}")
                await asyncio.wait([task], timeout=_LOOK_SECONDS)
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def stop(self) -> None:
        """Ends the Worker and everything that Workers of this demo left behind."""
        process, self._process = self._process, None
        try:
            if process is not None and process.returncode is None:
                assert process.stdin is not None
                process.stdin.close()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        finally:
            for group in self._groups:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
            if process is not None:
                await process.wait()

    def _log_end(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()[-_SHOWN_LOG_LINES:]
        return "\n".join([" It logged:", *lines]) if lines else " It logged nothing."
