"""Sessions outlive the Worker: everything is in the database."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dexbridge.claude.testing import ModelRequest, Reply, Text, ToolUse
from dexbridge.sessions import SessionStatus
from tests.fakes.claude_stage import LOOK_UP, SLACK_REPLY_STEPS, Stage, answer_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]


async def test_c15_a_call_that_waits_survives_two_restarts_and_then_runs_once(
    bare_stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = bare_stage
    await stage.open(stage.flow())
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "1"}), slack_reply()))
    waiting = await stage.turn("Look up 1 and post it.")
    await stage.close()

    await stage.open(stage.flow())
    assert (await stage.snapshot()).state.status is SessionStatus.WAITING
    await stage.close()

    # The third Worker is on another machine, as far as the CLI can tell.
    other = tmp_path / "elsewhere"
    other.mkdir()
    monkeypatch.chdir(other)
    monkeypatch.setenv("HOME", str(other))
    await stage.open(stage.flow())
    snapshot = await stage.snapshot()
    assert snapshot.state.interrupt is not None
    assert snapshot.state.interrupt.interrupt_id == waiting[-1].data["interrupt_id"]
    assert stage.posted == []
    stage.model.script(Reply(Text("Posted.")))

    events = await stage.decide(approve=True)

    assert answer_of(events) == "Posted."
    assert stage.posted == ["On its way."]
    assert await stage.steps() == SLACK_REPLY_STEPS
    assert stage.desk.looked_up == ["1"]
    assert len(stage.results()) == 2
    stage.assert_one_result_each()

    stage.model.script(Reply(Text("Yes.")))
    assert answer_of(await stage.turn("Sure?")) == "Yes."
    assert len({request.session_id for request in stage.model.requests}) == 1
    assert os.listdir(other) == []  # noqa: PTH208


async def test_two_sessions_at_once_do_not_mix(bare_stage: Stage) -> None:
    def respond(request: ModelRequest) -> Reply:
        number = request.last_user_text.removeprefix("Post ")
        if not request.tool_results:
            return Reply(slack_reply(f"Reply {number}"))
        (result,) = request.tool_results.values()
        return Reply(Text(f"Session {number}: {f'Reply {number}' in result.text}"))

    bare_stage.model = type(bare_stage.model)(respond)
    async with bare_stage.model:
        await bare_stage.open(bare_stage.flow())
        turns = [bare_stage.turn(f"Post {name}", approve=True, session=f"s-{name}") for name in ("a", "b", "c")]
        answers = [answer_of(events) for events in await asyncio.gather(*turns)]

        assert answers == ["Session a: True", "Session b: True", "Session c: True"]
        assert sorted(bare_stage.posted) == ["Reply a", "Reply b", "Reply c"]
        for name in ("a", "b", "c"):
            assert await bare_stage.steps(f"s-{name}") == SLACK_REPLY_STEPS
            (call,) = await bare_stage.calls(f"s-{name}")
            assert call.arguments["text"] == f"Reply {name}"
        call_ids = {(post.metadata or {})["event_payload"]["call_id"] for post in bare_stage.slack.posts}
        assert len(call_ids) == 3
        await bare_stage.close()


async def test_a_folder_reached_by_a_link_can_be_resumed(open_stage: OpenStage, tmp_path: Path) -> None:
    (tmp_path / "folder with spaces").mkdir()
    link = tmp_path / "link"
    link.symlink_to("folder with spaces")
    stage = await open_stage(options={"cwd": str(link)})
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))

    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."
    stage.assert_one_result_each()
