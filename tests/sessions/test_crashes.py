"""Worker processes killed with SIGKILL: one effect at most, the right outcome, one answer."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from dexbridge.sessions import AgentSessionClient, EventKind, SessionStatus, open_engine
from dexbridge.toolsource import OutcomeKind
from tests.sessions.conftest import Talk, flow_of, until

WORKER = Path(__file__).parents[1] / "fakes" / "session_worker.py"


def call(order: str, tool: str = "cancel_order") -> str:
    return f'call {tool} {{"order_id": "{order}"}}'


@asynccontextmanager
async def worker(file: Path, mode: str = "nowhere") -> AsyncGenerator[asyncio.subprocess.Process]:
    """A Worker process that serves; killed at the end."""
    ready = file.parent / "ready"
    ready.unlink(missing_ok=True)
    process = await asyncio.create_subprocess_exec(sys.executable, str(WORKER), str(file), str(file.parent), mode)
    try:
        await until(ready.exists)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def visitor(file: Path) -> AsyncGenerator[Talk]:
    """A client in this process; the Steps run in the Worker's."""
    async with open_engine(f"sqlite:///{file}", [flow_of([])], run_steps=False) as engine:
        client = AgentSessionClient(engine)
        await client.start_session("s-1")
        yield Talk(client)


def effects(file: Path) -> list[str]:
    path = file.parent / "effects"
    return path.read_text().splitlines() if path.exists() else []


WRITE_STEPS = ["RunModel-1", "AwaitToolApproval-1", "CallSingleAttemptTool-1", "ResumeTurn-1", "RunModel-2"]
READ_STEPS = ["RunModel-1", "CallTool-1", "ResumeTurn-1", "RunModel-2"]
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


async def test_a_killed_worker_costs_no_call_and_repeats_none(file: Path) -> None:
    async with visitor(file) as talk:
        for tool in ("cancel_order", "read_order"):
            stopped = {f"{tool}:{case.point}": case for case in STOPPED if case.tool == tool}
            talks = {session_id: Talk(talk.client, session_id) for session_id in stopped}
            (file.parent / "effects").unlink(missing_ok=True)
            async with worker(file, "armed"):
                for session_id, case in stopped.items():
                    await talk.client.start_session(session_id)
                    await talks[session_id].say(call(case.point, tool))
                    if tool == "cancel_order" and case.point != "after-first-segment":
                        assert await talks[session_id].decide(await talks[session_id].interrupt(), approved=True)
                for case in stopped.values():
                    reached = file.parent / f"reached {case.point}"
                    await until(reached.exists)
                    reached.unlink()
            async with worker(file):
                for session_id, case in stopped.items():
                    if case.point == "after-first-segment":
                        interrupt = await talks[session_id].interrupt()
                        assert await talks[session_id].decide(interrupt, approved=True)
                    await talks[session_id].answer()
                await asyncio.gather(*(check(talks[session_id], case, file) for session_id, case in stopped.items()))


async def check(talk: Talk, case: Stopped, file: Path) -> None:
    answer = await talk.answer()
    assert await talk.steps() == (WRITE_STEPS if case.tool == "cancel_order" else READ_STEPS)
    snapshot = await talk.snapshot()
    (record,) = snapshot.calls
    assert (record.outcome, record.text, record.attempts) == (case.outcome, answer, case.attempts), case
    done = effects(file)
    assert done.count(f"effect {case.point}") == case.effects, case
    assert done.count(f"first segment {case.point}") == case.first_segments, case
    if case.outcome is SUCCEEDED:
        assert done.count(f"last segment {case.point}") == case.last_segments, case
    ends = [e for e in await talk.events() if e.kind in (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED)]
    assert len(ends) == 1
    assert snapshot.state.status is SessionStatus.IDLE
    assert await talk.ask("go on") == "you said go on"


@pytest.mark.parametrize("step", ["AwaitToolApproval-1", "CallSingleAttemptTool-1"])
async def test_a_worker_killed_right_after_a_commit_goes_on_from_there(file: Path, step: str) -> None:
    async with visitor(file) as talk:
        async with worker(file, f"committed {step}") as process:
            await talk.say(call("7"))
            assert await talk.decide(await talk.interrupt(), approved=True)
            assert await process.wait() == -signal.SIGKILL
        async with worker(file):
            answer = await talk.answer()
            assert await talk.steps() == WRITE_STEPS
            assert effects(file).count("effect 7") <= 1
            (record,) = (await talk.snapshot()).calls
            assert record.text == answer
            # The kill may come when the next Step has begun already, and then that Step's own rule holds.
            assert record.outcome in ((SUCCEEDED, UNKNOWN) if step == "AwaitToolApproval-1" else (SUCCEEDED,))
            if step != "AwaitToolApproval-1":
                assert answer == "done with 7"


async def test_an_approval_outlives_its_worker_and_the_call_then_runs_once(file: Path) -> None:
    async with visitor(file) as talk:
        async with worker(file):
            await talk.say(call("7"))
            interrupt = await talk.interrupt()
        assert await talk.interrupt() == interrupt
        # Decided while no Worker runs at all.
        assert await talk.decide(interrupt, approved=True)
        async with worker(file):
            assert await talk.answer() == "done with 7"
        assert effects(file).count("effect 7") == 1


async def test_two_processes_on_one_file(file: Path) -> None:
    async with visitor(file) as talk, worker(file):
        seen: list[int] = []

        async def follow() -> None:
            async for event in talk.client.read_events("s-1", follow=True):
                seen.append(event.sequence)
                if event.kind is EventKind.TURN_ANSWERED:
                    return

        following = asyncio.create_task(follow())
        await talk.say("hello")
        second = await asyncio.create_subprocess_exec(
            sys.executable, str(WORKER), str(file), str(file.parent), "nowhere", stderr=asyncio.subprocess.PIPE
        )
        _, said = await second.communicate()
        assert second.returncode == 1
        assert b"WorkerAlreadyRunning: Another Worker process serves" in said
        assert b"run_steps=False" in said
        await asyncio.wait_for(following, 20)
        assert seen == list(range(1, len(seen) + 1))
