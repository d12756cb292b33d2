"""A Worker process killed right after a commit, before the engine has seen it."""

from __future__ import annotations

import signal

import pytest

from dexbridge.toolsource import OutcomeKind
from tests.sessions.conftest import Database
from tests.sessions.worker_processes import call, effects, visitor, worker

pytestmark = pytest.mark.slow

WRITE_STEPS = ["RunModel-1", "AwaitToolApproval-1", "CallSingleAttemptTool-1", "ResumeTurn-1", "RunModel-2"]
UNKNOWN, SUCCEEDED = OutcomeKind.OUTCOME_UNKNOWN, OutcomeKind.SUCCEEDED


@pytest.mark.parametrize("step", ["AwaitToolApproval-1", "CallSingleAttemptTool-1"])
async def test_a_worker_killed_right_after_a_commit_goes_on_from_there(database: Database, step: str) -> None:
    async with visitor(database) as talk:
        async with worker(database, f"committed {step}") as process:
            await talk.say(call("7"))
            assert await talk.decide(await talk.interrupt(), approved=True)
            assert await process.wait() == -signal.SIGKILL
        async with worker(database):
            answer = await talk.answer()
            assert await talk.steps() == WRITE_STEPS
            assert effects(database).count("effect 7") <= 1
            (record,) = (await talk.snapshot()).calls
            assert record.text == answer
            # The kill may come when the next Step has begun already, and then that Step's own rule holds.
            assert record.outcome in ((SUCCEEDED, UNKNOWN) if step == "AwaitToolApproval-1" else (SUCCEEDED,))
            if step != "AwaitToolApproval-1":
                assert answer == "done with 7"
