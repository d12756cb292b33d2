"""A Worker in a process of its own, which serves the scripted flow of the crash tests."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

__all__ = ["worker_process"]

_SCRIPT = Path(__file__).parents[1] / "tests" / "fakes" / "session_worker.py"


@asynccontextmanager
async def worker_process(
    url: str, folder: Path, mode: str = "nowhere", name: str = "ready"
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Serves from then on; killed at the end. See `tests/fakes/session_worker.py` for the modes."""
    process = await asyncio.create_subprocess_exec(sys.executable, str(_SCRIPT), url, str(folder), mode, name)
    try:
        while not (folder / name).exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        (folder / name).unlink()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
