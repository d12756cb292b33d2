"""One Worker per SQLite file, and clients in other processes."""

from __future__ import annotations

import asyncio
import sys

from dexbridge.sessions import EventKind
from tests.sessions.conftest import Database
from tests.sessions.worker_processes import WORKER, visitor, worker


async def test_two_processes_on_one_file(database: Database) -> None:
    async with visitor(database) as talk, worker(database):
        seen: list[int] = []

        async def follow() -> None:
            async for event in talk.client.read_events("s-1", follow=True):
                seen.append(event.sequence)
                if event.kind is EventKind.TURN_ANSWERED:
                    return

        following = asyncio.create_task(follow())
        await talk.say("hello")
        second = await asyncio.create_subprocess_exec(
            sys.executable,
            str(WORKER),
            database.url,
            str(database.folder),
            "nowhere",
            "second",
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await second.communicate()
        assert second.returncode == 1
        assert b"WorkerAlreadyRunning: Another Worker process serves" in said
        assert b"run_steps=False" in said
        await asyncio.wait_for(following, 20)
        assert seen == list(range(1, len(seen) + 1))
