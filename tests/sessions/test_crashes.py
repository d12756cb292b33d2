"""Worker processes killed with SIGKILL: one effect at most, the right outcome, one answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from dexbridge.sessions import EventKind, SessionStatus
from dexbridge.toolsource import OutcomeKind
from tests.sessions.conftest import Database, Talk, until
from tests.sessions.worker_processes import call, effects, visitor, worker

BOTH_DATABASES = True


WRITE_STEPS = ["RunModel-1", "AwaitToolApproval-1", "CallSingleAttemptTool-1", "ResumeTurn-1", "RunModel-2"]
READ_STEPS = ["RunModel-1", "CallTool-1", "ResumeTurn-1", "RunModel-2"]
LIVES = 3
"""How often the Workers here begin a segment."""
UNKNOWN, SUCCEEDED = OutcomeKind.OUTCOME_UNKNOWN, OutcomeKind.SUCCEEDED


@dataclass(frozen=True)
class Stopped:
    """A session whose Worker is killed at a point, and what must be true once another one has gone on."""

    point: str
    outcome: OutcomeKind
    effects: int
    first_segments: int = 1
    last_segments: int = 1
    attempts: int = 1
    tool: str = "cancel_order"


STOPPED = [
    Stopped("after-first-segment", SUCCEEDED, effects=1, first_segments=2),
    Stopped("before-effect", UNKNOWN, effects=0),
    Stopped("after-effect", UNKNOWN, effects=1),
    Stopped("after-last-segment", SUCCEEDED, effects=1, last_segments=2),
    Stopped("before-effect", SUCCEEDED, effects=1, attempts=2, tool="read_order"),
    Stopped("after-effect", SUCCEEDED, effects=2, attempts=2, tool="read_order"),
]


@pytest.mark.slow
async def test_a_killed_worker_costs_no_call_and_repeats_none(database: Database) -> None:
    async with visitor(database) as talk:
        for tool in ("cancel_order", "read_order"):
            stopped = {f"{tool}:{case.point}": case for case in STOPPED if case.tool == tool}
            talks = {session_id: Talk(talk.client, session_id) for session_id in stopped}
            (database.folder / "effects").unlink(missing_ok=True)
            async with worker(database, "armed"):
                for session_id, case in stopped.items():
                    await talk.client.start_session(session_id)
                    await talks[session_id].say(call(case.point, tool))
                    if tool == "cancel_order" and case.point != "after-first-segment":
                        assert await talks[session_id].decide(await talks[session_id].interrupt(), approved=True)
                for case in stopped.values():
                    await reached(database, case.point)
            async with worker(database):
                for session_id, case in stopped.items():
                    if case.point == "after-first-segment":
                        interrupt = await talks[session_id].interrupt()
                        assert await talks[session_id].decide(interrupt, approved=True)
                    await talks[session_id].answer()
                await asyncio.gather(
                    *(check(talks[session_id], case, database) for session_id, case in stopped.items())
                )


async def check(talk: Talk, case: Stopped, database: Database) -> None:
    answer = await talk.answer()
    assert await talk.steps() == (WRITE_STEPS if case.tool == "cancel_order" else READ_STEPS)
    snapshot = await talk.snapshot()
    (record,) = snapshot.calls
    assert (record.outcome, record.text, record.attempts) == (case.outcome, answer, case.attempts), case
    done = effects(database)
    assert done.count(f"effect {case.point}") == case.effects, case
    assert done.count(f"first segment {case.point}") == case.first_segments, case
    if case.outcome is SUCCEEDED:
        assert done.count(f"last segment {case.point}") == case.last_segments, case
    ends = [e for e in await talk.events() if e.kind in (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED)]
    assert len(ends) == 1
    assert snapshot.state.status is SessionStatus.IDLE
    assert await talk.ask("go on") == "you said go on"


async def test_an_approval_outlives_its_worker_and_the_call_then_runs_once(database: Database) -> None:
    async with visitor(database) as talk:
        async with worker(database):
            await talk.say(call("7"))
            interrupt = await talk.interrupt()
        assert await talk.interrupt() == interrupt
        # Decided while no Worker runs at all.
        assert await talk.decide(interrupt, approved=True)
        async with worker(database):
            assert await talk.answer() == "done with 7"
        assert effects(database).count("effect 7") == 1


@pytest.mark.slow
async def test_a_segment_that_ends_every_worker_is_given_up(database: Database) -> None:
    async with visitor(database) as talk:
        await lose_workers(talk, database, call("after-first-segment"), "after-first-segment", LIVES)
        async with worker(database, "armed"):
            assert "begun 3 times, and each time its Worker was lost" in await talk.answer()
            assert effects(database) == ["first segment after-first-segment"] * LIVES
            assert (await talk.snapshot()).calls == ()
        async with worker(database):
            assert await talk.ask("Once more.") == "you said Once more."
            # The model had not seen the first message, so it came again with the next.
            assert effects(database) == ["first segment after-first-segment"] * (LIVES + 1)


async def lose_workers(talk: Talk, database: Database, words: str, point: str, times: int) -> None:
    """Workers that are killed at the point, one after the other; the first is told the words."""
    for life in range(times):
        async with worker(database, "armed"):
            if life == 0:
                await talk.say(words)
            await reached(database, point)


async def reached(database: Database, point: str) -> None:
    """Waits until a Worker stands still at the point."""
    mark = database.folder / f"reached {point}"
    await until(mark.exists)
    mark.unlink()
