"""Legs that are open while nothing runs them, though the Worker that DBOS says has them lives."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import Database, Opening
from tests.sessions.worker_processes import visitor

BOTH_DATABASES = True
QUEUED = "dexbridge:s-1:leg-1:queued"


def set_workflow(database: Database, **columns: Any) -> None:
    table = "dbos.workflow_status" if database.is_postgres else "workflow_status"
    values = ", ".join(f"{column} = :{column}" for column in columns)
    database.write(f"update {table} set {values} where workflow_uuid = :id", id=QUEUED, **columns)


async def left_behind(database: Database) -> None:
    """A message is accepted, and DBOS keeps its leg back for an hour."""
    async with visitor(database) as talk:
        assert await talk.say("hello")
    set_workflow(database, status="DELAYED", delay_until_epoch_ms=2**50)


def claimed(state: dict[str, Any]) -> None:
    state["leg"] |= {"claimed_by": QUEUED, "epoch": 1}


async def test_a_leg_that_its_worker_has_and_does_not_run_is_run_again(
    database: Database, opening: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    await left_behind(database)
    database.change_state("s-1", claimed)
    async with opening() as talk:
        here = database.rows("select worker_id from dexbridge_workers")[0][0] if database.is_postgres else "worker"
        # As DBOS leaves a workflow that it took from the queue and could not begin.
        set_workflow(database, status="PENDING", executor_id=here)
        assert await talk.answer() == "you said hello"
    assert "Leg 1 of s-1 was open and nothing ran it; it is run again." in caplog.text
    assert database.workflows()[QUEUED] == "CANCELLED"


@pytest.mark.slow
async def test_a_leg_that_nobody_heard_of_is_begun(database: Database, opening: Opening) -> None:
    await left_behind(database)
    async with opening() as talk:
        queues = "dbos.queues" if database.is_postgres else "queues"
        database.write(f"update {queues} set polling_interval_sec = 3600")
        # DBOS may have looked at the interval just before.
        await asyncio.sleep(6)
        set_workflow(database, status="ENQUEUED", delay_until_epoch_ms=None)
        assert await talk.answer() == "you said hello"
        assert database.workflows()["dexbridge:s-1:leg-1:direct"] in ("PENDING", "SUCCESS")


@pytest.mark.slow
async def test_a_leg_that_takes_long_is_not_run_again(opening: Opening) -> None:
    async def long(_segment: Segment) -> None:
        # Three signs of life.
        await asyncio.sleep(6.5)

    runner = ScriptedRunner(before=long)
    async with opening(runner=runner) as talk:
        assert await talk.ask("hello") == "you said hello"
        assert len(runner.segments) == 1
        assert (await talk.snapshot()).state.legs == 1
