"""What the model gets back, and what a person reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from claude_agent_sdk import tool

from dexbridge.claude.conversation.results import LONGEST_RESULT
from dexbridge.claude.testing import CutStream, Reply, Text, ToolUse
from dexbridge.toolsource import OutcomeKind, ToolEffect, ToolPolicy
from tests.fakes.claude_stage import CANCEL, LOOK_UP, SLACK_REPLY_STEPS, Stage, answer_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]


async def test_c13_a_long_or_broken_result_is_bounded_and_mended_and_the_session_goes_on(stage: Stage) -> None:
    stage.desk.found = "x" * 200_000
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "1"})), Reply(Text("Long.")))
    assert answer_of(await stage.turn("Order 1?")) == "Long."
    (long,) = stage.results()
    assert long.text.startswith("Order 1: xxx")
    assert long.text.endswith("of 200009 characters left out here]")
    assert len(long.text) < 25_000

    stage.desk.found = "half \ud83d, whole \ud83d\ude00"
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "2"})), Reply(Text("Broken.")))
    assert answer_of(await stage.turn("Order 2?")) == "Broken."
    assert stage.results()[-1].text == "Order 2: half \ufffd, whole \U0001f600"

    stage.model.script(Reply(Text("Still here.")))
    assert answer_of(await stage.turn("Are you there?")) == "Still here."


async def test_c13_a_long_result_of_a_write_is_cut_once(open_stage: OpenStage) -> None:
    @tool("export", "Export.", {"what": str})
    async def export(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(arguments["what"]) * 200_000}, {"type": "image"}]}

    policy = {"export": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE, requires_approval=False)}
    stage = await open_stage(tools=[export], policies=policy)
    stage.model.script(Reply(ToolUse("mcp__tools__export", {"what": "x"})), Reply(Text("Exported.")))
    assert answer_of(await stage.turn("Export.")) == "Exported."
    (result,), (call,) = stage.results(), await stage.calls()
    assert result.text == call.text
    left_out = int(result.text.rpartition("[")[2].split()[0])
    assert left_out == 200_000 - result.text.count("x") + len("\n[image left out: results keep text only]")
    assert len(result.text) <= LONGEST_RESULT


async def test_c14_a_rejection_reaches_the_model_with_its_message(stage: Stage) -> None:
    stage.model.script(Reply(slack_reply()), Reply(Text("I did not post it.")))

    events = await stage.turn("Post it.", approve=False, rejection="Not before noon.")

    assert answer_of(events) == "I did not post it."
    (result,) = stage.results()
    assert result.is_error
    assert "rejected" in result.text
    assert "They said: Not before noon." in result.text
    assert stage.slack.requests == []
    (call,) = await stage.calls()
    assert (call.outcome, call.decision, call.decided_by) == (OutcomeKind.REJECTED, "rejected", "Ada")
    assert call.attempts == 0
    assert await stage.steps() == ["RunModel", "AwaitToolApproval", "ResumeTurn", "RunModel"]
    stage.assert_one_result_each()


async def test_a_write_of_the_application_runs_in_its_own_step_once(stage: Stage) -> None:
    stage.model.script(Reply(ToolUse(CANCEL, {"order_id": "1002", "reason": "asked"})), Reply(Text("Cancelled.")))

    assert answer_of(await stage.turn("Cancel 1002.", approve=True)) == "Cancelled."

    assert stage.desk.cancelled == ["1002"]
    assert await stage.steps() == SLACK_REPLY_STEPS
    (result,) = stage.results()
    assert (result.text, result.is_error) == ("Cancelled 1002", False)


async def test_an_answer_of_several_parts_is_whole_and_a_later_turn_knows_the_earlier(stage: Stage) -> None:
    stage.model.script(
        Reply(Text("Looking."), ToolUse(LOOK_UP, {"order_id": "1"})), Reply(Text("First part."), Text("Second part."))
    )
    answer = answer_of(await stage.turn("Order 1? 👋 \u2028 ü"))
    assert answer == "First part.\n\nSecond part."

    stage.model.script(Reply(Text("As I said.")))
    assert answer_of(await stage.turn("And again?")) == "As I said."

    conversation = stage.model.requests[-1].conversation
    assert [m.text for m in conversation if m.role == "user" and m.text] == ["Order 1? 👋 \u2028 ü", "And again?"]
    assert "First part." in str(conversation)
    assert await stage.steps() == ["RunModel", "RunModel"]


async def test_a_user_text_reads_no_file_and_runs_no_command(stage: Stage, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("what only this machine knows")
    texts = [f"@{secret} what is in it?", "/clear", "/help me"]
    stage.model.script(*[Reply(Text(f"Answer {number}.")) for number in range(len(texts))])

    for number, text in enumerate(texts):
        assert answer_of(await stage.turn(text)) == f"Answer {number}."
        assert stage.model.requests[-1].last_user_text == text
    assert len(stage.model.requests[-1].conversation) == 2 * len(texts) - 1
    assert "what only this machine knows" not in str(stage.model.requests[-1].body)


async def test_a_call_that_came_whole_before_the_stream_broke_runs_once(stage: Stage) -> None:
    stage.model.script(CutStream(slack_reply(), pause=0.3), Reply(Text("Posted.")))

    events = await stage.turn("Post it.", approve=True)

    assert answer_of(events) == "Posted."
    assert stage.posted == ["On its way."]
    assert await stage.steps() == SLACK_REPLY_STEPS
    stage.assert_one_result_each()
    stage.model.assert_script_used()
