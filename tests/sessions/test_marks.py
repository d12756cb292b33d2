"""Marks beside the sessions: every process of the database sees them, for their time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from dexbridge.sessions import open_engine
from tests.sessions.conftest import Database

BOTH_DATABASES = True


async def test_a_mark_is_seen_from_everywhere_until_it_lapses(database: Database) -> None:
    later = datetime.now(UTC) + timedelta(hours=12)
    async with open_engine(database.url, run_steps=False) as engine:
        marks = engine.marks
        assert marks is not None
        await marks.mark("over", datetime.now(UTC) - timedelta(seconds=1))
        await asyncio.gather(*(marks.mark("lasts", later) for _ in range(5)))
        assert [await marks.is_marked(name) for name in ("over", "lasts", "never")] == [False, True, False]
    async with open_engine(database.url, run_steps=False) as engine:
        marks = engine.marks
        assert marks is not None
        assert await marks.is_marked("lasts")
