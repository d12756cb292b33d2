"""A process that waits, and does not take its result as it should: the next attempt gives it to a new one."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ToolResultBlock
from mcp.types import CallToolResult, TextContent

from dexbridge.claude import CliProcesses
from dexbridge.claude.conversation.results import LONGEST_RESULT, bounded, is_told
from dexbridge.claude.locks.handler import HandlerLock
from dexbridge.claude.testing import Reply, Text
from dexbridge.sessions import CallResult
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import SLACK_REPLY_STEPS, Stage, answer_of, cli_processes, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]
A_MINUTE = CliProcesses(park_call=timedelta(minutes=1), park_approval=timedelta(minutes=1))


async def posted_once_and_told(stage: Stage) -> None:
    """The post was made once, and the model was told so by a new process."""
    assert stage.model.requests[-1].resumed
    assert stage.posted == ["On its way."]
    assert await stage.steps() == SLACK_REPLY_STEPS
    (call,) = await stage.calls()
    (result,) = stage.results()
    assert (call.outcome, result.text, result.is_error) == (OutcomeKind.SUCCEEDED, call.text, False)
    stage.assert_one_result_each()


async def test_a_frozen_process_is_left_for_a_new_one(open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dexbridge.claude.segment._TAKE_SECONDS", 1.0)
    stage = await open_stage(processes=A_MINUTE)
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))
    await stage.turn("Post it.")
    (frozen,) = cli_processes()
    frozen.suspend()

    assert answer_of(await stage.decide(approve=True)) == "Posted."

    assert not frozen.is_running()
    await posted_once_and_told(stage)


@pytest.mark.parametrize("where", ["env", "settings"])
async def test_a_process_that_would_not_wait_long_enough_does_not_wait(open_stage: OpenStage, where: str) -> None:
    short = {"MCP_TOOL_TIMEOUT": "2000"}
    options: dict[str, Any] = {"env": short} if where == "env" else {"settings": json.dumps({"env": short})}
    stage = await open_stage(processes=A_MINUTE, options=options)
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))
    await stage.turn("Post it.")

    assert answer_of(await stage.decide(approve=True)) == "Posted."

    await posted_once_and_told(stage)


async def test_what_the_cli_says_instead_of_the_result_is_not_committed(open_stage: OpenStage, tmp_path: Path) -> None:
    # Nothing of ours reads a project's own settings, so here a process waits that gives up on its call.
    folder = tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_text('{"env": {"MCP_TOOL_TIMEOUT": "2000"}}')
    stage = await open_stage(processes=A_MINUTE, options={"setting_sources": ["project"], "cwd": str(folder)})
    stage.model.script(Reply(slack_reply()), Reply(Text("It took too long.")), Reply(Text("Posted.")))
    with stage.model.unchecked("the CLI gives up on the call by itself; the segment fails and is not committed"):
        await stage.turn("Post it.")
        await stage.model.wait_for_requests(2)
    assert "timed out" in str(stage.model.requests[-1].body["messages"])

    assert answer_of(await stage.decide(approve=True)) == "Posted."

    assert "timed out" not in str(stage.model.requests[-1].body["messages"])
    await posted_once_and_told(stage)


async def test_a_result_that_is_another_when_it_arrives_is_given_again(
    open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_out = HandlerLock._hand_out  # pyright: ignore[reportPrivateUsage]
    handed: list[str] = []

    async def changed_at_first(lock: HandlerLock, name: str, tool_use_id: str) -> CallToolResult:
        result = await hand_out(lock, name, tool_use_id)
        handed.append(tool_use_id)
        words = TextContent(type="text", text="It timed out.")
        changed = CallToolResult.model_validate({"content": [words], "isError": True})
        return changed if len(handed) == 1 else result

    monkeypatch.setattr(HandlerLock, "_hand_out", changed_at_first)
    stage = await open_stage(processes=A_MINUTE)
    stage.model.script(Reply(slack_reply()), Reply(Text("It timed out."), delay=0.5), Reply(Text("Posted.")))
    with stage.model.unchecked("the handler is made to tell something else once, which must not be committed"):
        await stage.turn("Post it.")
        answer = answer_of(await stage.decide(approve=True))

    assert answer in ("It timed out.", "Posted.")
    assert len(handed) == 2
    await posted_once_and_told(stage)


def told(content: Any, *, is_error: bool | None = None) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id="toolu_1", content=content, is_error=is_error)


@pytest.mark.parametrize(
    ("recorded", "is_error", "block", "same"),
    [
        ("Posted.", False, told([{"type": "text", "text": "Posted."}]), True),
        ("Posted.", False, told("Posted."), True),
        ("", False, told("(slack_post_thread_reply completed with no output)"), True),
        ("no\n", True, told("no", is_error=True), True),
        ("half \ud83d", False, told("half \ufffd"), True),
        ("x" * 50_000, True, told("x" * 5_000 + "…", is_error=True), True),
        ("Posted.", False, told("Posted.", is_error=True), False),
        ("Posted.", False, told("The tool timed out.", is_error=True), False),
        ("Posted.", False, told("The tool timed out."), False),
        ("It failed.", True, told("The tool timed out.", is_error=True), False),
        ("Posted.", False, told(None), False),
    ],
)
def test_what_counts_as_the_recorded_result(recorded: str, is_error: bool, block: ToolResultBlock, same: bool) -> None:
    result = CallResult(tool_use_id="toolu_1", tool="slack_post_thread_reply", text=recorded, is_error=is_error)
    assert is_told(result, block) is same


def test_a_cut_text_says_how_much_is_left_out_however_often_it_passes() -> None:
    cut = bounded("x" * 200_000)
    assert len(cut) <= LONGEST_RESULT
    assert cut == bounded(cut)
    kept = cut.count("x")
    assert cut.endswith(f"\n[{200_000 - kept} of 200000 characters left out here]")
    assert bounded("half \ud83d, whole \ud83d\ude00") == "half \ufffd, whole \U0001f600"
