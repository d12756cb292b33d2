"""Several Worker processes on one PostgreSQL: a session runs on one of them, and a lost one is taken over from."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from dexbridge.sessions import EventKind
from dexbridge.toolsource import OutcomeKind
from tests.sessions.conftest import Database, Talk, until
from tests.sessions.worker_processes import call, effects, visitor, worker

pytestmark = pytest.mark.slow

# A SQLite file has one Worker.
DATABASES = ("postgres",)
UNKNOWN, SUCCEEDED = OutcomeKind.OUTCOME_UNKNOWN, OutcomeKind.SUCCEEDED


@asynccontextmanager
async def workers(database: Database, first: str, second: str) -> AsyncGenerator[list[asyncio.subprocess.Process]]:
    """Two Workers in their modes."""
    async with worker(database, first, "one") as one, worker(database, second, "two") as two:
        yield [one, two]


async def begin(talk: Talk, points: list[str]) -> dict[str, Talk]:
    """A session per point, started and, where it must be, approved."""
    talks = {point: Talk(talk.client, f"at-{point}") for point in points}
    for point, each in talks.items():
        await talk.client.start_session(each.session_id)
        await each.say(call(point))
        if point not in ("after-first-segment", "waiting"):
            await each.decide(await each.interrupt(), approved=True)
        elif point == "waiting":
            await each.interrupt()
    return talks


async def reached(database: Database, *points: str) -> None:
    for point in points:
        await until((database.folder / f"reached {point}").exists)


async def test_what_a_killed_worker_was_doing_is_taken_over(database: Database) -> None:
    points = ["after-first-segment", "before-effect", "after-effect", "waiting"]
    async with visitor(database) as talk, worker(database, "armed", "one", forget=False) as lost:
        talks = await begin(talk, points)
        await reached(database, *points[:3])
        async with worker(database, "nowhere", "two"):
            lost.send_signal(signal.SIGKILL)
            assert await talks["waiting"].decide(await talks["waiting"].interrupt(), approved=True)
            # A session nothing was lost of does not wait for the take-over.
            assert await talks["waiting"].answer() == "done with waiting"
            segment = talks["after-first-segment"]
            assert await segment.decide(await segment.interrupt(), approved=True)
            outcomes = {point: await outcome(each) for point, each in talks.items()}
    assert outcomes == {
        "after-first-segment": SUCCEEDED,
        "before-effect": UNKNOWN,
        "after-effect": UNKNOWN,
        "waiting": SUCCEEDED,
    }
    done = effects(database)
    assert {point: done.count(f"effect {point}") for point in points} == {
        "after-first-segment": 1,
        "before-effect": 0,
        "after-effect": 1,
        "waiting": 1,
    }


async def outcome(talk: Talk) -> OutcomeKind:
    await talk.answer()
    (record,) = (await talk.snapshot()).calls
    return record.outcome


async def test_a_worker_that_was_frozen_neither_commits_nor_sends(database: Database) -> None:
    points = ["after-first-segment", "before-effect"]
    async with visitor(database) as talk, worker(database, "brief", "one") as frozen:
        await begin(talk, points)
        await reached(database, *points)
        frozen.send_signal(signal.SIGSTOP)
        segment, called = (Talk(talk.client, f"at-{point}") for point in points)
        try:
            async with worker(database, "nowhere", "two"):
                interrupt = await segment.interrupt()
                events = await segment.events()
                await called.answer()
                assert (await called.snapshot()).calls[0].outcome is UNKNOWN
                frozen.send_signal(signal.SIGCONT)
                (database.folder / "go on").touch()
                # The request was with the tool before the freeze: its answer settles the record, and nothing else.
                settled = await called.event(EventKind.OUTCOME_SETTLED)
                assert settled.data["settled_by"] == "provider"
                assert (await called.snapshot()).calls[0].outcome is SUCCEEDED
                assert await segment.events() == events
                assert await segment.decide(interrupt, approved=True)
                assert await segment.answer() == "done with after-first-segment"
                for each in (segment, called):
                    steps = await each.steps()
                    assert len(steps) == len(set(steps))
        finally:
            frozen.send_signal(signal.SIGCONT)
    done = effects(database)
    assert [done.count(f"effect {point}") for point in points] == [1, 1]


async def test_a_session_is_never_on_two_workers(database: Database) -> None:
    turns = 0
    async with visitor(database) as talk, workers(database, "nowhere", "nowhere"):
        talks = [Talk(talk.client, f"s-{number}") for number in range(8)]
        for each in talks:
            await talk.client.start_session(each.session_id)
        # A poll of the queue takes all it finds, so it is left to chance when both Workers have run something.
        async with asyncio.timeout(60):
            while turns < 3 or len(_executors(database)) < 2:
                marks = [(await each.snapshot()).last_event for each in talks]
                for each in talks:
                    await each.say(call(f"{each.session_id}.{turns}", "read_order"))
                    await asyncio.sleep(0.1)
                await asyncio.gather(*(each.answer(mark) for each, mark in zip(talks, marks, strict=True)))
                turns += 1
    done = effects(database)
    assert len(done) == len(set(done)) == 8 * turns * 3


def _executors(database: Database) -> set[str]:
    return {
        row[0] for row in database.rows("select executor_id from dbos.workflow_status where executor_id is not null")
    }


async def test_a_clean_close_hands_over_at_once(database: Database) -> None:
    async with visitor(database) as talk, worker(database, "armed", "one", forget=False) as closing:
        await begin(talk, ["after-first-segment"])
        await reached(database, "after-first-segment")
        async with worker(database, "nowhere", "two"):
            closing.send_signal(signal.SIGTERM)
            assert await closing.wait() == 0
            assert database.rows("select count(*) from dexbridge_workers") == [(1,)]
            await Talk(talk.client, "at-after-first-segment").interrupt()


async def test_requests_of_a_client_reach_the_worker_in_its_process(database: Database) -> None:
    async with visitor(database) as talk, worker(database, "armed", "one"):
        await begin(talk, ["after-first-segment"])
        await reached(database, "after-first-segment")
        running = Talk(talk.client, "at-after-first-segment")
        assert await running.cancel()
        assert await running.answer() == "turn_cancelled"
        await begin(talk, ["waiting"])
        waiting = Talk(talk.client, "at-waiting")
        assert await waiting.steer("rather not")
        assert await waiting.answer() == "you said rather not"


async def test_workers_that_start_at_once_on_an_empty_database(empty_postgres: Database) -> None:
    async with asyncio.timeout(60), AsyncExitStack() as open_ones:
        starting = [worker(empty_postgres, "nowhere", name) for name in ("one", "two")]
        await asyncio.gather(*(open_ones.enter_async_context(each) for each in starting))
        talk = await open_ones.enter_async_context(visitor(empty_postgres))
        assert await talk.ask("hello") == "you said hello"
