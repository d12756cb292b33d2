"""A client and Workers in several processes wake one another: nobody waits for the next look at the database."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from tests.sessions.conftest import Database, Talk
from tests.sessions.pgbouncer import pooled
from tests.sessions.worker_processes import call, effects, visitor, worker

BOTH_DATABASES = True

TURNS = 20
WITHOUT_A_LOOK_SECONDS = 10.0
"""For all of them. A look comes every 2 s at most where others are heard, so they would take twice as long by it."""


def set_aside_the_queue(database: Database) -> None:
    """DBOS looks into its queue once an hour from now on, in every Worker."""
    table = "dbos.queues" if database.is_postgres else "queues"
    database.write(f"update {table} set polling_interval_sec = 3600")


async def quick_turns(talk: Talk) -> None:
    async with asyncio.timeout(WITHOUT_A_LOOK_SECONDS):
        for number in range(TURNS):
            assert await talk.ask(f"hello {number}") == f"you said hello {number}"


async def test_a_message_and_its_answer_wake_the_other_process(database: Database) -> None:
    async with visitor(database) as talk, worker(database):
        set_aside_the_queue(database)
        # What happened before the first turn may still have to be looked up.
        assert await talk.ask("hello") == "you said hello"
        await quick_turns(talk)


async def test_one_of_many_workers_runs_a_leg_that_all_hear_of(database: Database) -> None:
    if not database.is_postgres:
        pytest.skip("a SQLite file has one Worker")
    async with visitor(database) as talk, AsyncExitStack() as workers:
        for name in ("one", "two", "three"):
            await workers.enter_async_context(worker(database, name=name))
        set_aside_the_queue(database)
        talks = [Talk(talk.client, f"s-{number}") for number in range(5)]
        for each in talks:
            await talk.client.start_session(each.session_id)
        for turn in range(4):
            marks = [(await each.snapshot()).last_event for each in talks]
            await asyncio.gather(*(each.say(call(f"{each.session_id}.{turn}", "read_order")) for each in talks))
            await asyncio.gather(*(each.answer(mark) for each, mark in zip(talks, marks, strict=True)))
        steps = [await each.steps() for each in talks]
    done = effects(database)
    assert len(done) == len(set(done)) == 5 * 4 * 3
    assert all(len(each) == len(set(each)) == 4 * 4 for each in steps)
    # One workflow was begun here and there for each leg, not one in every Worker.
    assert sum(identity.endswith(":direct") for identity in database.workflows()) == 5 * 4


async def test_a_listening_connection_that_is_cut_is_opened_again(database: Database) -> None:
    if not database.is_postgres:
        pytest.skip("nothing listens on SQLite")
    async with visitor(database) as talk, worker(database):
        set_aside_the_queue(database)
        assert await talk.ask("hello") == "you said hello"
        listening = "from pg_stat_activity where datname = current_database() and query like 'LISTEN \"dexbridge%'"
        assert database.rows(f"select count(pg_terminate_backend(pid)) {listening}") == [(2,)]
        # Meanwhile nothing is lost, only later.
        assert await talk.ask("more") == "you said more"
        async with asyncio.timeout(10):
            while database.rows(f"select count(*) {listening}") != [(2,)]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        await quick_turns(talk)


@pytest.mark.slow
async def test_behind_a_pooler_it_is_looked_for_what_others_commit_and_said_once(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    if not database.is_postgres:
        pytest.skip("PgBouncer is for PostgreSQL")
    caplog.set_level(logging.WARNING)
    with pooled(database.url, database.folder) as url:
        behind = replace(database, url=url)
        async with visitor(behind) as talk, worker(behind):
            set_aside_the_queue(database)
            for number in range(3):
                assert await talk.ask(f"hello {number}") == f"you said hello {number}"
            # Longer than a notice of its own is waited for.
            await asyncio.sleep(3)
            assert await talk.ask("more") == "you said more"
    here = "\n".join(record.getMessage() for record in caplog.records)
    there = (database.folder / "ready.log").read_text()
    assert here.count("LISTEN does not reach this process") == there.count("LISTEN does not reach this process") == 1
