"""A recorded result reaches the model whatever becomes of the process, the tool or the CLI's patience."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest
from sqlalchemy import create_engine, text

from dexbridge.claude import CliProcesses
from dexbridge.claude.conversation.made_entries import result_entry
from dexbridge.claude.testing import ApiError, ModelRequest, Reply, Text, ToolUse
from dexbridge.sessions import CallResult, TranscriptEntry
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import COLD, LOOK_UP, POST, Stage, answer_of, error_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]


def stored(stage: Stage) -> list[TranscriptEntry]:
    """The committed transcript."""
    with create_engine(f"sqlite:///{stage.database}").connect() as connection:
        rows = connection.execute(text("select entry from dexbridge_transcript order by sequence")).scalars()
        return [TranscriptEntry(row) for row in rows]


async def test_our_result_entry_is_the_clis_own_field_by_field(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=COLD)
    stage.model.script(Reply(slack_reply()), Reply(slack_reply("Again.")), Reply(Text("Done.")))
    await stage.turn("Post it.", approve=True)
    await stage.turn("Post it.")
    made, rejected = await stage.calls()
    entries = [json.loads(entry.json) for entry in stored(stage)]
    by_call = {answered(entry): entry for entry in entries if answered(entry)}

    for call in (made, rejected):
        is_error = call.outcome is not OutcomeKind.SUCCEEDED
        result = CallResult(tool_use_id=call.tool_use_id, tool=call.tool, text=call.text, is_error=is_error)
        ours = result_entry(stored(stage), result)
        assert ours is not None
        # The last two are what the CLI notes of its own decision.
        fresh = {"uuid", "timestamp", "permissionDecision", "mcpCallNotReadOnly"}
        real = by_call[call.tool_use_id]
        assert {name: value for name, value in json.loads(ours.json).items() if name not in fresh} == {
            name: value for name, value in real.items() if name not in fresh
        }


def answered(entry: dict[str, Any]) -> str | None:
    """The call whose result an entry holds."""
    content: Any = entry.get("message", {}).get("content")
    if entry["type"] != "user" or isinstance(content, str):
        return None
    return next((block["tool_use_id"] for block in content if block["type"] == "tool_result"), None)


def stubborn_cli(folder: Path) -> str:
    """The real CLI, but one that resumes with a hook that denies the call whose result it should take."""
    real = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    settings = folder / "settings.json"
    decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}
    command = f"echo '{json.dumps({'hookSpecificOutput': decision})}'"
    hook = {"matcher": POST, "hooks": [{"type": "command", "command": command}]}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))
    program = folder / "claude"
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *--resume*) exec {real} "$@" --settings {settings};; *) exec {real} "$@";; esac\n'
    )
    program.chmod(0o755)
    return str(program)


async def test_a_result_no_process_takes_is_written_into_the_conversation(
    open_stage: OpenStage, tmp_path: Path
) -> None:
    stage = await open_stage(processes=COLD, options={"cli_path": stubborn_cli(tmp_path)})
    stage.model.script(Reply(Text("I will."), slack_reply(), ToolUse(LOOK_UP, {"order_id": "1"})))

    # The first two processes may get to ask the model before they are ended.
    def respond(request: ModelRequest) -> Reply:
        denied = any("PreToolUse" in result.text for result in request.tool_results.values())
        return Reply(Text("It was denied." if denied else "Posted."))

    stage.model.answer_with(respond)
    events = await stage.turn("Post it.", approve=True)
    stage.model.script(Reply(Text("Yes.")))

    assert answer_of(events) == "Posted."
    assert answer_of(await stage.turn("Was it posted?")) == "Yes."
    (attempts,) = [event.data["segment_attempts"] for event in events if event.data.get("ended") == "answered"]
    assert attempts == 3
    assert stage.posted == ["On its way."]
    (call,) = await stage.calls()
    for request in stage.model.requests[-2:]:
        (result,) = request.results_of(call.tool_use_id)
        assert (result.text, result.is_error) == (call.text, False)
        assert len(request.results_of("toolu_000000000000000000000002")) == 1
    assert "It was denied." not in str(stage.model.requests[-1].body["messages"])


async def test_a_tool_that_is_gone_when_its_result_is_due_does_not_hold_the_session(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=COLD)
    stage.model.script(Reply(slack_reply()))
    await stage.turn("Post it.")
    await stage.close()
    await stage.open(stage.flow(processes=COLD, connector_tools=lambda _: ()))
    stage.model.script(Reply(Text("I could not.")), Reply(slack_reply()), Reply(Text("Not any more.")))

    assert answer_of(await stage.decide(approve=True)) == "I could not."
    assert answer_of(await stage.turn("Again.")) == "Not any more."

    assert stage.posted == []
    (call,) = await stage.calls()
    (first, second) = stage.results()
    assert (call.outcome, first.text, first.is_error) == (OutcomeKind.FAILED, call.text, True)
    assert "no longer offered" in first.text
    assert second.is_error


async def test_what_became_of_a_call_is_told_when_its_tool_is_gone(open_stage: OpenStage) -> None:
    """The post was made, but its result could not be given before the Worker came back without the tool."""
    stage = await open_stage(processes=COLD, limits={"segment_attempts": 1})
    stage.model.script(Reply(slack_reply()), *[ApiError(529)] * 3)
    error_of(await stage.turn("Post it.", approve=True))
    await stage.close()
    await stage.open(stage.flow(processes=COLD, connector_tools=lambda _: ()))
    stage.model.script(Reply(Text("Posted.")), Reply(Text("Yes.")))

    assert answer_of(await stage.turn("Was it posted?")) == "Yes."

    (call,) = await stage.calls()
    (result,) = stage.results()
    assert (result.text, result.is_error) == (call.text, False)
    assert stage.posted == ["On its way."]


@pytest.mark.slow
@pytest.mark.parametrize("processes", [COLD, CliProcesses()], ids=["cold", "parked"])
@pytest.mark.parametrize("where", ["one reply", "the next reply", "the next turn"])
async def test_a_tool_use_id_that_comes_twice_ends_the_turn_and_nothing_is_sent(
    open_stage: OpenStage, processes: CliProcesses, where: str
) -> None:
    stage = await open_stage(processes=processes)
    first, second = (replace(slack_reply(text), id="call_0") for text in ("First.", "Second."))
    look_up = ToolUse(LOOK_UP, {"order_id": "1"}, id="call_0")
    if where == "one reply":
        stage.model.script(Reply(first, second))
    elif where == "the next reply":
        stage.model.script(Reply(look_up), Reply(second))
    else:
        stage.model.script(Reply(look_up), Reply(Text("Not shipped.")), Reply(second))
        await stage.turn("Where is it?")

    error = error_of(await stage.turn("Post it.", approve=True))

    assert "'call_0' to two calls" in error
    assert stage.posted == []
    assert await stage.calls() == ()
    stage.model.script(Reply(Text("Hello.")))
    assert answer_of(await stage.turn("Hello?")) == "Hello."


@pytest.mark.slow
async def test_sessions_that_share_one_process_lose_nothing(open_stage: OpenStage) -> None:
    """With a long prompt the CLI's bookkeeping once made it forget the answer, and then the pending call."""
    stage = await open_stage(processes=CliProcesses(1), options={"system_prompt": "You support orders. " * 450})

    def respond(request: ModelRequest) -> Reply:
        asked = request.last_user_text
        return Reply(Text(f"Done: {asked}")) if request.tool_results else Reply(slack_reply(asked))

    stage.model.answer_with(respond)

    async def talk(session: str) -> None:
        for turn in (1, 2):
            message = f"{session}, message {turn}"
            assert answer_of(await stage.turn(message, approve=True, session=session)) == f"Done: {message}"

    await asyncio.gather(*(talk(f"s-{number}") for number in range(4)))

    assert len(stage.posted) == len(set(stage.posted)) == 8


async def test_a_conversation_the_cli_compacted_goes_on(open_stage: OpenStage) -> None:
    """What the CLI keeps beside its summary is still there in later turns, and so is each result since."""
    stage = await open_stage(processes=COLD, options={"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}})
    look_up = ToolUse(LOOK_UP, {"order_id": "1"})
    stage.model.script(Reply(slack_reply("1"), look_up), Reply(Text("Answer 1."), input_tokens=170_000))
    stage.model.script(Reply(Text("<summary>They talked.</summary>")))
    stage.model.script(Reply(slack_reply("2"), look_up), Reply(Text("Answer 2.")))
    stage.model.script(Reply(slack_reply("3"), look_up), Reply(Text("Answer 3.")))

    for turn in (1, 2, 3):
        assert answer_of(await stage.turn(f"Message {turn}.", approve=True)) == f"Answer {turn}."

    assert stage.posted == ["1", "2", "3"]
    told = [message.text for message in stage.model.requests[-1].conversation]
    assert "They talked." in told[0]
    assert [text for text in told[1:] if text] == ["Answer 1.", "Message 2.", "Answer 2.", "Message 3."]
    assert [result.tool_use_id[-1] for result in stage.results()] == ["3", "4", "6", "5"]


@pytest.mark.parametrize("processes", [COLD, CliProcesses()], ids=["cold", "parked"])
async def test_a_call_of_a_refused_reply_does_not_hold_those_after_it(
    open_stage: OpenStage, processes: CliProcesses
) -> None:
    """The CLI asks again by itself, and never makes the call that had begun to leave."""
    stage = await open_stage(processes=processes)
    refused = Reply(Text("No."), slack_reply("Refused."), stop_reason="refusal")
    stage.model.script(refused, Reply(slack_reply("First."), slack_reply("Second.")), Reply(Text("Posted.")))

    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."

    assert stage.posted == ["First."]
    assert [call.arguments["text"] for call in await stage.calls()] == ["First."]


async def test_a_message_id_that_comes_twice_ends_the_turn(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=COLD)
    look_up = ToolUse(LOOK_UP, {"order_id": "1"})
    stage.model.script(
        Reply(look_up, message_id="msg_1"), Reply(Text("Not shipped."), message_id="msg_1"), Reply(Text("Hello."))
    )

    assert "message ID 'msg_1' to two replies" in error_of(await stage.turn("Where is it?"))
    assert answer_of(await stage.turn("Hello?")) == "Hello."


async def test_replies_without_a_message_id_are_replies_all_the_same(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=COLD)
    look_up = ToolUse(LOOK_UP, {"order_id": "1"})
    stage.model.script(Reply(Text("I look."), look_up, message_id=""), Reply(Text("Not shipped."), message_id=""))

    assert answer_of(await stage.turn("Where is it?")) == "Not shipped."
    assert await stage.said() == ["I look.", "Not shipped."]
