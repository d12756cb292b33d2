"""Worker processes of tests that kill them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from dexbridge.sessions import AgentSessionClient, open_engine
from tests.sessions.conftest import Database, Talk, flow_of, until

__all__ = ["WORKER", "call", "effects", "visitor", "worker"]

STARTS_WITHIN = 60.0
"""A new process imports much, and a busy machine lets it wait; what it does then has no such excuse."""
WORKER = Path(__file__).parents[1] / "fakes" / "session_worker.py"


def call(order: str, tool: str = "cancel_order") -> str:
    return f'call {tool} {{"order_id": "{order}"}}'


@asynccontextmanager
async def worker(
    database: Database, mode: str = "nowhere", name: str = "ready", *, forget: bool = True
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A Worker process that serves; killed at the end."""
    ready = database.folder / name
    ready.unlink(missing_ok=True)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(WORKER), database.url, str(database.folder), mode, name
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
