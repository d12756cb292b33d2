"""Worker processes of tests that kill them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dexbridge.sessions import AgentSessionClient, open_engine
from tests.sessions.conftest import Database, Talk, flow_of, until

__all__ = ["WORKER", "call", "effects", "faked", "visitor", "worker"]

STARTS_WITHIN = 60.0
"""A new process imports much, and a busy machine lets it wait; what it does then has no such excuse."""
WORKER = Path(__file__).parents[1] / "fakes" / "session_worker.py"


def call(order: str, tool: str = "cancel_order") -> str:
    return f'call {tool} {{"order_id": "{order}"}}'


@asynccontextmanager
async def worker(
    database: Database, mode: str = "nowhere", name: str = "ready", *, forget: bool = True, clock: str | None = None
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A Worker process that serves; killed at the end. What it writes to stderr is in `<folder>/<name>.log`.

    Args:
        database: Its database.
        mode: See `session_worker`.
        name: Of the file it writes once it serves.
        forget: Whether its sign of life is made old when it is killed.
        clock: How far its clock is off, such as `+30s`.
    """
    ready = database.folder / name
    ready.unlink(missing_ok=True)
    with (database.folder / f"{name}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(WORKER), database.url, str(database.folder), mode, name),
            stderr=log,
            env={**os.environ, **({} if clock is None else faked(clock))},
        )
    try:
        await until(lambda: ready.exists() or process.returncode is not None, seconds=STARTS_WITHIN)
        assert process.returncode is None, f"the Worker ended with {process.returncode} before it served"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        if forget and database.is_postgres:
            # It has been silent for so long that its legs may be taken over; the tests need not wait for that.
            database.write("update dexbridge_workers set seen = 0")


def faked(clock: str) -> dict[str, str]:
    """Environment of a process whose clock is off; the one that measures how long something takes goes on as it is."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not found:
        pytest.skip("faketime is missing: run `make services` first")
    return {"LD_PRELOAD": str(found[0]), "FAKETIME": clock, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@asynccontextmanager
async def visitor(database: Database) -> AsyncGenerator[Talk]:
    """A client in this process; the Steps run in the Worker's."""
    async with open_engine(database.url, [flow_of([])], run_steps=False) as engine:
        client = AgentSessionClient(engine)
        await client.start_session("s-1")
        yield Talk(client)


def effects(database: Database) -> list[str]:
    path = database.folder / "effects"
    return path.read_text().splitlines() if path.exists() else []
