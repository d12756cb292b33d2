"""SIGKILL to a Worker process at the worst moments: one message in the thread, or none, and the truth about it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from dexbridge.claude.testing import Reply, Text
from dexbridge.connectors.testing.slack_faults import AnswerLate, PostLate
from dexbridge.sessions import AgentSessionClient, open_engine
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import SLACK_REPLY_STEPS, Stage, answer_of, cli_processes, slack_reply
from tests.fakes.claude_worker import worker_flow

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


class Workers:
    """One Worker process at a time on the stage's database; the test talks to its sessions as a client."""

    def __init__(self, stage: Stage, temporary_folder: Path) -> None:
        self._stage = stage
        self.temporary_folder = temporary_folder
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        stage = self._stage
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.fakes.claude_worker",
            *(str(stage.database), stage.model.url, stage.slack.endpoint),
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(self.temporary_folder)},
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert await self._process.stdout.readline() == b"serving\n"

    async def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await process.communicate()


@pytest.fixture
async def workers(bare_stage: Stage, tmp_path: Path) -> AsyncIterator[Workers]:
    (tmp_path / "temporary").mkdir()
    flow = worker_flow(bare_stage.model.url, bare_stage.slack.endpoint)
    workers = Workers(bare_stage, tmp_path / "temporary")
    try:
        await workers.start()
        async with open_engine(f"sqlite:///{bare_stage.database}", [flow], run_steps=False) as engine:
            bare_stage.engine, bare_stage.client = engine, AgentSessionClient(engine)
            yield workers
            await bare_stage.remember()
    finally:
        await workers.kill()


async def until(condition: Callable[[], bool]) -> None:
    """Waits for what another process does; it says nothing of it."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.02)


def gone(processes: list[psutil.Process]) -> bool:
    return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)


async def test_killed_in_a_segment_and_after_slack_accepted(bare_stage: Stage, workers: Workers) -> None:
    stage = bare_stage
    stage.model.script(Reply(slack_reply("Lost with its Worker."), delay=600))
    await stage.client.start_session("s-1")
    await stage.client.send_user_message("s-1", "Post it.")
    await stage.model.wait_for_requests(1)
    orphans = cli_processes(workers.pid)
    assert len(orphans) == 1

    await workers.kill()
    async with asyncio.timeout(20):
        await until(lambda: gone(orphans))

    stage.model.script(Reply(slack_reply()))
    stage.slack.fail_next("chat.postMessage", AnswerLate(600))
    await workers.start()
    waiting = await stage.go_on(0)
    async with asyncio.timeout(30):
        deciding = asyncio.create_task(stage.decide(approve=True))
        await until(lambda: bool(stage.slack.posts))

        await workers.kill()
        stage.model.script(Reply(Text("Posted.")))
        await workers.start()
        events = await deciding

    assert answer_of(events) == "Posted."
    assert stage.posted == ["On its way."]
    assert stage.slack_methods.count("chat.postMessage") == 1
    (call,) = await stage.calls()
    assert (call.outcome, call.attempts) == (OutcomeKind.SUCCEEDED, 1)
    assert call.receipt is not None
    assert call.receipt["provider_object_id"] == stage.slack.posts[0].ts
    assert await stage.steps() == SLACK_REPLY_STEPS
    assert await stage.said() == ["Posted."]
    assert waiting[-1].data["tool"] == "slack_post_thread_reply"
    stage.assert_one_result_each()
    stage.model.assert_script_used()


async def test_killed_after_the_attempt_row_and_before_slack_has_the_message(
    bare_stage: Stage, workers: Workers
) -> None:
    stage = bare_stage
    stage.model.script(Reply(slack_reply()))
    stage.slack.fail_next("chat.postMessage", PostLate(600))
    await stage.turn("Post it.")
    async with asyncio.timeout(30):
        deciding = asyncio.create_task(stage.decide(approve=True))
        await until(lambda: "chat.postMessage" in stage.slack_methods)

        await workers.kill()
        stage.model.script(Reply(Text("It was not sent.")))
        await workers.start()
        events = await deciding

    assert answer_of(events) == "It was not sent."
    assert stage.posted == []
    assert stage.slack_methods.count("chat.postMessage") == 1
    (call,) = await stage.calls()
    assert (call.outcome, call.attempts) == (OutcomeKind.FAILED, 1)
    assert "it was not sent" in call.text
    (result,) = stage.results()
    assert result.is_error
    assert await stage.steps() == SLACK_REPLY_STEPS
    stage.assert_one_result_each()
