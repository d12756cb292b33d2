"""Which ends of a Worker count as lost in a segment; one that ends every Worker is in test_crashes.py."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import LIMITS, Database, Opening
from tests.sessions.test_crashes import LIVES, lose_workers
from tests.sessions.worker_processes import call, visitor, worker

pytestmark = pytest.mark.slow


async def test_a_segment_that_ended_a_worker_now_and_then_goes_on(database: Database) -> None:
    point = "after-last-segment"
    async with visitor(database) as talk:
        await lose_workers(talk, database, call(point, "read_order"), point, LIVES - 1)
        async with worker(database):
            assert await talk.answer() == f"done with {point}"


async def test_a_worker_that_was_closed_did_not_end_in_its_segment(opening: Opening) -> None:
    begun = asyncio.Event()

    async def hang(_segment: Segment) -> None:
        begun.set()
        await asyncio.sleep(60)

    limits = replace(LIMITS, segment_runs=1)
    for number in range(3):
        begun.clear()
        async with opening(runner=ScriptedRunner(before=hang), limits=limits) as talk:
            if number == 0:
                await talk.say("hello")
            async with asyncio.timeout(20):
                await begun.wait()
    async with opening(limits=limits) as talk:
        assert await talk.answer() == "you said hello"
        assert (await talk.snapshot()).state.runs == 1
