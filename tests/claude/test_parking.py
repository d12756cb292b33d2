"""A process that waits for its call's result is a cache: nothing but time may depend on it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import psutil
import pytest
from sqlalchemy import create_engine, text

from dexbridge.claude import CliProcesses
from dexbridge.claude.testing import ModelRequest, Reply, Text, ToolUse
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import (
    COLD,
    LIST,
    LOOK_UP,
    SLACK_REPLY_STEPS,
    Stage,
    answer_of,
    cli_processes,
    slack_reply,
    until,
)

OpenStage = Callable[..., Awaitable[Stage]]
CONTINUATION = "Continue from where you left off."
A_MINUTE = CliProcesses(park_call=timedelta(minutes=1), park_approval=timedelta(minutes=1))


def sent(request: ModelRequest) -> Any:
    """All that the model was sent, without the CLI's own sentence and what differs from run to run."""
    body: dict[str, Any] = json.loads(re.sub(r"toolu_\d+|\d{10}\.\d{6}", "…", json.dumps(request.body)))
    # IDs of the CLI's folder and of the conversation.
    del body["metadata"]
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message["content"] = [
            # Where the cache's mark is depends on which block is the last.
            {name: value for name, value in block.items() if name != "cache_control"}
            for block in blocks
            if block.get("text") != CONTINUATION
        ]
    return body


def stored_entries(stage: Stage) -> list[dict[str, Any]]:
    """The committed transcript."""
    with create_engine(f"sqlite:///{stage.database}").connect() as connection:
        rows = connection.execute(text("select entry from dexbridge_transcript order by sequence")).scalars()
        return [json.loads(row) for row in rows]


def deferral_of(stage: Stage) -> dict[str, Any]:
    """The entry that says that a call was deferred."""
    (entry,) = [entry for entry in stored_entries(stage) if '"hook_deferred_tool"' in json.dumps(entry)]
    return entry


async def one_reply(open_stage: OpenStage, processes: CliProcesses) -> Stage:
    stage = await open_stage(processes=processes)
    stage.model.script(Reply(Text("I will post it."), slack_reply()), Reply(Text("Posted.")))
    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."
    return stage


async def test_our_deferral_entry_is_the_clis_own_field_by_field(open_stage: OpenStage, tmp_path: Any) -> None:
    stage = await one_reply(open_stage, COLD)
    real, entries = deferral_of(stage), stored_entries(stage)
    assert stage.model.requests[-1].resumed
    await stage.close()
    stage.database = tmp_path / "parked.db"

    ours = deferral_of(await one_reply(open_stage, A_MINUTE))
    assert not stage.model.requests[-1].resumed

    assert list(ours) == list(real)
    fresh = {"uuid", "timestamp", "parentUuid", "sessionId"}
    assert {name: ours[name] for name in ours if name not in fresh} == {
        name: real[name] | {"toolUseID": ours["attachment"]["toolUseID"]} if name == "attachment" else real[name]
        for name in real
        if name not in fresh
    }
    by_id = {entry["uuid"]: entry for entry in entries if "uuid" in entry}
    assert by_id[real["parentUuid"]]["type"] == "assistant"
    parked = {entry["uuid"]: entry for entry in stored_entries(stage) if "uuid" in entry}
    assert parked[ours["parentUuid"]]["type"] == "assistant"
    assert len(ours["timestamp"]) == len(real["timestamp"])


async def story(stage: Stage, processes: CliProcesses) -> tuple[ModelRequest, ...]:
    """What the model is sent for a read, an inline read, a write that is approved and one that is rejected."""
    stage.database = stage.database.with_name(f"{processes.park_call.total_seconds():g}.db")
    await stage.open(stage.flow(processes=processes))
    before = len(stage.model.requests)
    where = {"channel_id": "C0123456789", "thread_timestamp": "1710000000.000100"}
    stage.model.script(
        Reply(Text("I will read it."), ToolUse(LIST, where)),
        Reply(ToolUse(LOOK_UP, {"order_id": "1002"})),
        Reply(Text("I will post it."), slack_reply()),
        Reply(Text("Posted.")),
        Reply(slack_reply("Again.")),
        Reply(Text("I left it.")),
    )
    assert answer_of(await stage.turn("Read and post.", approve=True)) == "Posted."
    assert answer_of(await stage.turn("Once more.", approve=False, rejection="Not today.")) == "I left it."
    await stage.close()
    # Slack as it was, so that the next story reads the same thread.
    stage.slack.posts.clear()
    return stage.model.requests[before:]


@pytest.mark.slow
async def test_the_model_is_sent_the_same_but_for_the_clis_own_sentence(bare_stage: Stage) -> None:
    cold = await story(bare_stage, COLD)

    parked = await story(bare_stage, A_MINUTE)

    assert [request.resumed for request in cold] == [False, True, False, True, False, True]
    assert not any(request.resumed for request in parked)
    assert [sent(request) for request in parked] == [sent(request) for request in cold]


async def test_a_transcript_of_either_resumes_under_the_other(open_stage: OpenStage) -> None:
    stage = await one_reply(open_stage, A_MINUTE)
    stage.model.script(Reply(slack_reply("Again.")), Reply(Text("Posted again.")))
    await stage.close()
    await stage.open(stage.flow(processes=COLD))
    assert answer_of(await stage.turn("Once more.", approve=True)) == "Posted again."
    stage.model.script(Reply(slack_reply("A third time.")), Reply(Text("Posted a third time.")))
    await stage.close()
    await stage.open(stage.flow(processes=A_MINUTE))

    assert answer_of(await stage.turn("And again.", approve=True)) == "Posted a third time."

    assert stage.posted == ["On its way.", "Again.", "A third time."]
    assert await stage.steps() == SLACK_REPLY_STEPS * 3
    stage.assert_one_result_each()


@pytest.mark.parametrize(("first", "then"), [(COLD, A_MINUTE), (A_MINUTE, COLD)])
async def test_a_call_that_waits_resumes_under_the_other(
    bare_stage: Stage, first: CliProcesses, then: CliProcesses
) -> None:
    stage = bare_stage
    await stage.open(stage.flow(processes=first))
    stage.model.script(Reply(Text("I post."), slack_reply()), Reply(slack_reply("Two.")), Reply(Text("Posted.")))
    await stage.turn("Post.")
    await stage.close()
    await stage.open(stage.flow(processes=then))

    assert answer_of(await stage.decide(approve=True)) == "Posted."

    assert stage.posted == ["On its way.", "Two."]
    assert [request.resumed for request in stage.model.requests] == [False, True, then is COLD]
    stage.assert_one_result_each()


async def test_a_process_behind_the_conversation_is_of_no_use(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=A_MINUTE)
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))
    await stage.turn("Post it.")
    # As after another Worker went on with the session: the transcript has a row this process does not know.
    note = {"type": "summary", "summary": "of another Worker", "leafUuid": "x"}
    with create_engine(f"sqlite:///{stage.database}").begin() as connection:
        rows = connection.execute(text("select max(sequence) from dexbridge_transcript")).scalar_one()
        connection.execute(
            text("insert into dexbridge_transcript (session_id, sequence, entry) values ('s-1', :number, :entry)"),
            {"number": rows + 1, "entry": json.dumps(note)},
        )
        connection.execute(
            text("update dexbridge_sessions set state = json_set(state, '$.transcript_rows', :rows)"),
            {"rows": rows + 1},
        )

    assert answer_of(await stage.decide(approve=True)) == "Posted."

    assert stage.model.requests[-1].resumed


async def test_nothing_waits_for_a_person_while_others_wait_for_a_process(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=CliProcesses(most=1, park_approval=timedelta(minutes=1)))
    stage.model.script(Reply(slack_reply(), delay=1), Reply(Text("Nothing to do."), delay=0.1), Reply(Text("Posted.")))
    asking = asyncio.create_task(stage.turn("Post it."))
    await stage.model.wait_for_requests(1)

    assert answer_of(await stage.turn("Hello.", session="s-2")) == "Nothing to do."

    await asking
    assert answer_of(await stage.decide(approve=True)) == "Posted."
    assert stage.model.requests[-1].resumed


async def test_nothing_waits_while_memory_is_short(open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dexbridge.claude.processes.slots.available_memory", lambda: 100_000_000)
    stage = await one_reply(open_stage, A_MINUTE)

    assert stage.model.requests[-1].resumed
    assert stage.posted == ["On its way."]


async def test_a_killed_process_costs_a_start_and_nothing_else(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=A_MINUTE)
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))
    await stage.turn("Post it.")
    (waiting,) = cli_processes()
    waiting.kill()
    await asyncio.to_thread(waiting.wait, 10)

    assert answer_of(await stage.decide(approve=True)) == "Posted."

    assert stage.model.requests[-1].resumed
    assert stage.posted == ["On its way."]
    assert await stage.steps() == SLACK_REPLY_STEPS
    stage.assert_one_result_each()


async def test_a_process_waits_for_a_person_no_longer_than_its_bound(
    open_stage: OpenStage, caplog: pytest.LogCaptureFixture
) -> None:
    stage = await open_stage(processes=CliProcesses(park_approval=timedelta(seconds=0.2)))
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))
    await stage.turn("Post it.")
    await asyncio.to_thread(psutil.wait_procs, cli_processes(), 10)
    assert cli_processes() == []

    assert answer_of(await stage.decide(approve=True)) == "Posted."

    assert stage.model.requests[-1].resumed
    assert stage.posted == ["On its way."]
    # An end that was meant is no error in an operator's log; on a busy machine the engine may have words of its own.
    ended = [record for record in caplog.records if record.name.startswith(("dexbridge.claude", "claude_agent_sdk"))]
    assert [record for record in ended if record.levelno >= logging.WARNING] == []


async def test_a_waiting_process_makes_room_for_a_running_one(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=CliProcesses(most=1, park_approval=timedelta(minutes=1)))
    stage.model.script(Reply(slack_reply()), Reply(Text("Nothing to do.")), Reply(Text("Posted.")))
    await stage.turn("Post it.")

    other = await stage.turn("Hello.", session="s-2")

    assert answer_of(other) == "Nothing to do."
    await until(lambda: not cli_processes(), "the end of both processes")
    assert answer_of(await stage.decide(approve=True)) == "Posted."
    assert stage.model.requests[-1].resumed


async def test_a_read_and_then_a_write_in_one_process(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=A_MINUTE)
    where = {"channel_id": "C0123456789", "thread_timestamp": "1710000000.000100"}
    stage.model.script(Reply(ToolUse(LIST, where)), Reply(slack_reply()), Reply(Text("Read and posted.")))

    assert answer_of(await stage.turn("Read and post.", approve=True)) == "Read and posted."

    assert await stage.steps() == ["RunModel", "CallTool", "ResumeTurn", *SLACK_REPLY_STEPS]
    assert not any(request.resumed for request in stage.model.requests)
    stage.assert_one_result_each()
    await until(lambda: not cli_processes(), "the end of the process")


@pytest.mark.parametrize("second", [slack_reply("Two."), ToolUse(LOOK_UP, {"order_id": "1002"})])
async def test_a_reply_with_several_calls_is_deferred(open_stage: OpenStage, second: ToolUse) -> None:
    stage = await open_stage(processes=A_MINUTE)
    stage.model.script(Reply(slack_reply("One."), second), Reply(Text("Done.")))

    assert answer_of(await stage.turn("Go.", approve=True)) == "Done."

    assert stage.model.requests[-1].resumed
    assert stage.posted == ["One."]
    stage.assert_one_result_each()


async def test_a_rejection_reaches_the_waiting_process(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=A_MINUTE)
    stage.model.script(Reply(slack_reply()), Reply(Text("I left it.")))

    events = await stage.turn("Post it.", approve=False, rejection="Not today.")

    assert answer_of(events) == "I left it."
    (result,) = stage.results()
    assert result.is_error
    assert "Not today." in result.text
    assert not stage.model.requests[-1].resumed
    assert stage.posted == []


async def test_a_cancelled_call_and_the_next_message_go_to_the_waiting_process(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=A_MINUTE)
    stage.model.script(Reply(slack_reply()), Reply(Text("It was cancelled.")), Reply(Text("Hello to you.")))
    await stage.turn("Post it.")
    assert await stage.client.cancel_turn("s-1")

    assert answer_of(await stage.turn("Hello.")) == "Hello to you."

    assert stage.posted == []
    (call,) = await stage.calls()
    assert call.outcome is OutcomeKind.CANCELLED
    stage.assert_one_result_each()


async def test_no_process_outlives_the_engine(open_stage: OpenStage) -> None:
    stage = await open_stage(processes=A_MINUTE)
    stage.model.script(Reply(slack_reply()))
    await stage.turn("Post it.")
    assert len(cli_processes()) == 1

    await stage.close()

    assert cli_processes() == []


async def test_another_cli_version_defers(open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dexbridge.claude.segment.COMPARED_CLI_VERSIONS", frozenset({"0.0.0"}))
    stage = await one_reply(open_stage, A_MINUTE)

    assert stage.model.requests[-1].resumed
    assert stage.posted == ["On its way."]
