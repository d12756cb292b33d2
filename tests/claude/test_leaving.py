"""Calls that leave the CLI, and the ways a reply can mix them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from claude_agent_sdk import AgentDefinition

from dexbridge.claude.testing import Reply, Text, ToolUse
from dexbridge.sessions import EventKind
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import (
    CANCEL,
    CHANNEL,
    LIST,
    LOOK_UP,
    POST,
    SLACK_REPLY_STEPS,
    THREAD,
    Stage,
    answer_of,
    slack_reply,
)

OpenStage = Callable[..., Awaitable[Stage]]


async def test_c01_one_connector_write_runs_once_in_its_own_step(stage: Stage) -> None:
    stage.model.script(Reply(Text("I will post it."), slack_reply()), Reply(Text("Posted.")))

    events = await stage.turn("Tell the customer it is on its way.", approve=True)

    assert answer_of(events) == "Posted."
    assert await stage.steps() == SLACK_REPLY_STEPS
    assert await stage.said() == ["I will post it.", "Posted."]
    (call,) = await stage.calls()
    assert (call.tool, call.connection, call.outcome) == (
        "slack_post_thread_reply",
        "slack/support-slack",
        OutcomeKind.SUCCEEDED,
    )
    assert (call.step_execution_id, call.attempts, call.decided_by) == ("CallSingleAttemptTool-1", 1, "Ada")
    assert stage.slack_methods == ["chat.postMessage"]
    (post,) = stage.slack.posts
    assert (post.channel, post.thread_ts, post.text) == (CHANNEL, THREAD, "On its way.")
    assert post.metadata == {"event_type": "dexbridge_call", "event_payload": {"call_id": call.call_id}}
    assert call.receipt is not None
    assert call.receipt["provider_object_id"] == post.ts
    first, second = stage.model.requests
    assert set(first.tools) == {LOOK_UP, CANCEL, POST, LIST}
    (result,) = second.tool_results.values()
    assert result.tool_use_id == call.tool_use_id
    assert not result.is_error
    assert post.ts in result.text
    stage.assert_one_result_each()
    stage.model.assert_script_used()


async def test_c02_one_connector_read_runs_in_call_tool(stage: Stage) -> None:
    stage.model.script(
        Reply(ToolUse(LIST, {"channel_id": CHANNEL, "thread_timestamp": THREAD})), Reply(Text("They ask for 1042."))
    )

    events = await stage.turn("What does the thread say?")

    assert answer_of(events) == "They ask for 1042."
    assert await stage.steps() == ["RunModel", "CallTool", "ResumeTurn", "RunModel"]
    assert stage.slack_methods == ["conversations.replies"]
    (call,) = await stage.calls()
    assert (call.outcome, call.step_execution_id) == (OutcomeKind.SUCCEEDED, "CallTool-1")
    assert call.call_id is not None
    (result,) = stage.results()
    assert "Where is order 1042?" in result.text
    stage.assert_one_result_each()


async def test_c03_a_read_beside_a_write_runs_inline_and_both_have_results(stage: Stage) -> None:
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "1002"}), slack_reply()), Reply(Text("Both done.")))

    events = await stage.turn("Look up 1002 and tell the customer.", approve=True)

    assert answer_of(events) == "Both done."
    assert await stage.steps() == SLACK_REPLY_STEPS
    assert stage.desk.looked_up == ["1002"]
    assert stage.posted == ["On its way."]
    read, written = stage.results()
    assert read.text == "Order 1002: not shipped"
    assert stage.slack.posts[0].ts in written.text
    stage.assert_one_result_each()
    stage.model.assert_script_used()


async def test_c04_the_second_write_of_a_reply_is_refused_in_the_turn(stage: Stage) -> None:
    stage.model.script(
        Reply(slack_reply("First."), slack_reply("Second.")), Reply(slack_reply("Second.")), Reply(Text("Both posted."))
    )

    events = await stage.turn("Post two replies.", approve=True)

    assert answer_of(events) == "Both posted."
    assert stage.posted == ["First.", "Second."]
    refused = [result for result in stage.results() if result.is_error]
    assert len(stage.results()) == 3
    assert len(refused) == 1
    assert stage.model.requests[-1].tool_uses[refused[0].tool_use_id][1]["text"] == "Second."
    assert "ask for slack_post_thread_reply again" in refused[0].text
    assert [call.arguments["text"] for call in await stage.calls()] == ["First.", "Second."]
    assert len({call.call_id for call in await stage.calls()}) == 2
    assert sum(event.kind is EventKind.INTERRUPT_OPENED for event in events) == 2
    stage.assert_one_result_each()
    stage.model.assert_script_used()


async def test_c05_text_after_the_call_is_neither_shown_nor_recorded(stage: Stage) -> None:
    stage.model.script(
        Reply(ToolUse(LOOK_UP, {"order_id": "1002"})),
        Reply(Text("I will post it."), slack_reply(), Text("I have posted it, all is well.")),
        Reply(Text("Now it is posted.")),
    )

    waiting = await stage.turn("Tell the customer.")

    assert await stage.said() == ["I will post it."]
    assert waiting[-1].kind is EventKind.INTERRUPT_OPENED
    events = await stage.decide(approve=True)
    assert answer_of(events) == "Now it is posted."
    assert await stage.said() == ["I will post it.", "Now it is posted."]
    assert "all is well" not in str(await stage.events())
    stage.assert_one_result_each()


async def test_c06_a_connector_write_of_a_subagent_is_denied(open_stage: OpenStage) -> None:
    poster = AgentDefinition(description="Posts replies.", prompt="You post replies.", tools=[POST])
    stage = await open_stage(options={"tools": ["Task"], "agents": {"poster": poster}})
    task = {"description": "post", "prompt": "Post the reply.", "subagent_type": "poster"}
    stage.model.script(
        Reply(ToolUse("Task", task)), Reply(slack_reply()), Reply(Text("I could not.")), Reply(Text("Not posted."))
    )

    events = await stage.turn("Let the poster do it.")

    assert answer_of(events) == "Not posted."
    refused = next(iter(stage.model.requests[2].tool_results.values()))
    assert refused.is_error
    assert "call this tool from the main conversation" in refused.text
    assert await stage.steps() == ["RunModel"]
    assert await stage.calls() == ()
    assert stage.slack.requests == []


async def test_c08_the_same_call_twice_is_two_calls_with_two_approvals(stage: Stage) -> None:
    stage.model.script(Reply(slack_reply("Same.")), Reply(slack_reply("Same.")), Reply(Text("Twice.")))

    first = await stage.turn("Post it twice.")
    (interrupt_1,) = [e.data["interrupt_id"] for e in first if e.kind is EventKind.INTERRUPT_OPENED]
    events = await stage.decide(approve=True)

    (interrupt_2,) = [e.data["interrupt_id"] for e in events if e.kind is EventKind.INTERRUPT_OPENED]
    assert interrupt_1 != interrupt_2
    assert answer_of(events) == "Twice."
    assert stage.posted == ["Same.", "Same."]
    one, two = await stage.calls()
    assert one.fingerprint == two.fingerprint
    assert one.call_id != two.call_id
    assert [call["event_payload"]["call_id"] for call in (post.metadata or {} for post in stage.slack.posts)] == [
        one.call_id,
        two.call_id,
    ]
    stage.assert_one_result_each()
