"""What the model made up is refused before anybody is asked, and definitions are checked before anything runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from claude_agent_sdk import SdkMcpTool, tool

from dexbridge.claude import claude_agent_session_flow
from dexbridge.claude.testing import Reply, Text, ToolUse
from dexbridge.sessions import EventKind
from dexbridge.toolsource import InvalidToolDefinition, ToolEffect, ToolPolicy, connector_tool
from tests.fakes.claude_stage import (
    CHANNEL,
    SLACK_REPLY_STEPS,
    THREAD,
    Stage,
    agent_options,
    answer_of,
    slack_reply,
)

OpenStage = Callable[..., Awaitable[Stage]]
REFUND = "mcp__tools__refund"


def refund_tool(given: list[dict[str, Any]]) -> SdkMcpTool[Any]:
    schema = {
        "type": "object",
        "$defs": {"money": {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}},
        "properties": {"money": {"$ref": "#/$defs/money"}, "note": {"type": "string"}},
        "required": ["money", "note"],
    }

    @tool("refund", "Refunds money.", schema)
    async def refund(arguments: dict[str, Any]) -> dict[str, Any]:
        given.append(arguments)
        return {"content": [{"type": "text", "text": "refunded"}]}

    return refund


def named(name: str, schema: Any = None) -> SdkMcpTool[Any]:
    @tool(name, "Does something.", {"text": str} if schema is None else schema)
    async def do(_arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": []}

    return do


async def refused_once(stage: Stage, call: ToolUse) -> str:
    """The text the model got for a call that nobody was asked about."""
    stage.model.script(Reply(call), Reply(Text("It was refused.")))
    events = await stage.turn("Do it.")
    assert answer_of(events) == "It was refused."
    assert EventKind.INTERRUPT_OPENED not in [event.kind for event in events]
    assert await stage.calls() == ()
    assert stage.slack.requests == []
    (result,) = stage.model.requests[-1].tool_results.values()
    assert result.is_error
    stage.assert_one_result_each()
    return result.text


async def test_c09_a_string_for_an_object_is_refused_and_a_declared_string_is_never_parsed(
    open_stage: OpenStage,
) -> None:
    given: list[dict[str, Any]] = []
    stage = await open_stage(
        tools=[refund_tool(given)], policies={"refund": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE)}
    )

    text = await refused_once(stage, ToolUse(REFUND, {"money": '{"amount": 5', "note": "x"}))

    assert text.count("money:") == 1
    assert "money: must be an object, not a string that holds JSON" in text
    # The CLI itself reads a string of valid JSON where an object is declared, before any hook or message shows it.
    # What is shown for approval is then the object, and exactly that is given to the tool.
    stage.model.script(
        Reply(ToolUse(REFUND, {"money": '{"amount": 5}', "note": '{"amount": 5}'})), Reply(Text("Refunded."))
    )
    waiting = await stage.turn("Once more.")
    assert waiting[-1].data["arguments"] == {"money": {"amount": 5}, "note": '{"amount": 5}'}
    assert answer_of(await stage.decide(approve=True)) == "Refunded."
    assert given == [{"money": {"amount": 5}, "note": '{"amount": 5}'}]


async def test_c10_all_faults_of_the_arguments_are_named_at_once(stage: Stage) -> None:
    text = await refused_once(
        stage, ToolUse("mcp__tools__slack_post_thread_reply", {"channel_id": CHANNEL, "text": None, "emoji": ":)"})
    )

    assert "thread_timestamp" in text
    assert "text" in text
    assert "emoji" in text
    assert stage.model.requests[-1].tool_results


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([named("x" * 53)], "'" + "x" * 53 + "' is 65 characters long"),
        ([named("look.up")], "'look.up' may hold only letters, digits"),
        ([named("same"), named("same")], "Two tools are called 'same'"),
        ([named("slack_post_thread_reply")], "Two tools are called 'slack_post_thread_reply'"),
    ],
)
def test_c11_a_tool_name_that_cannot_be_offered_is_refused(
    bare_stage: Stage, tools: list[SdkMcpTool[Any]], message: str
) -> None:
    with pytest.raises(InvalidToolDefinition) as refused:
        bare_stage.flow(tools=tools)
    assert message in str(refused.value)


def test_c11_two_operations_of_one_name_are_refused(bare_stage: Stage) -> None:
    def twice(connection: Any) -> list[Any]:
        operation = connection.post_thread_reply()
        return [connector_tool(operation, connection.reference) for _ in range(2)]

    with pytest.raises(InvalidToolDefinition, match="Two tools are called 'slack_post_thread_reply'"):
        bare_stage.flow(connector_tools=twice)


async def test_c11_the_longest_name_reaches_the_model(open_stage: OpenStage) -> None:
    stage = await open_stage(tools=[named("y" * 52)])
    stage.model.script(Reply(Text("Hello.")))

    await stage.turn("Hello?")

    assert "mcp__tools__" + "y" * 52 in stage.model.requests[0].tools


def test_c12_a_top_level_combinator_is_refused() -> None:
    schema = {"type": "object", "anyOf": [{"required": ["a"]}], "properties": {"a": {"type": "string"}}}
    with pytest.raises(InvalidToolDefinition, match="'either' has 'anyOf' at its top level"):
        claude_agent_session_flow(
            lambda _context: agent_options("http://127.0.0.1:1"), [named("either", schema)], flow_type="x"
        )


async def test_c12_a_reference_reaches_the_model_inlined(open_stage: OpenStage) -> None:
    stage = await open_stage(tools=[refund_tool([])])
    stage.model.script(Reply(Text("Hello.")))

    await stage.turn("Hello?")

    (schema,) = [tool["input_schema"] for tool in stage.model.requests[0].body["tools"] if tool["name"] == REFUND]
    assert "$ref" not in str(schema)
    assert schema["properties"]["money"]["properties"] == {"amount": {"type": "number"}}


async def test_s01_s02_a_thread_timestamp_that_is_none_is_refused(stage: Stage) -> None:
    number = await refused_once(stage, slack_reply(thread_timestamp=1602251441.0017))
    assert "thread_timestamp: must be a string" in number

    for blank in ("", "  "):
        assert "thread_timestamp" in await refused_once(stage, slack_reply(thread_timestamp=blank))


async def test_s06_a_text_is_refused_beyond_4000_characters_and_sent_whole_at_4000(stage: Stage) -> None:
    text = await refused_once(stage, slack_reply("x" * 4001))

    assert "4000" in text.replace(",", "")
    stage.model.script(Reply(slack_reply("x" * 4000)), Reply(Text("Sent.")))
    assert answer_of(await stage.turn("Shorter.", approve=True)) == "Sent."
    assert stage.posted == ["x" * 4000]


async def test_what_is_shown_is_what_is_sent(stage: Stage) -> None:
    stage.model.script(Reply(slack_reply("Grüße 👋 & <b>")), Reply(Text("Sent 👋.")))

    waiting = await stage.turn("Send it: Grüße 👋")
    shown = waiting[-1].data["arguments"]
    events = await stage.decide(approve=True)

    assert answer_of(events) == "Sent 👋."
    assert (shown["text"], shown["thread_timestamp"]) == ("Grüße 👋 & <b>", THREAD)
    (call,) = await stage.calls()
    assert call.arguments == shown
    assert stage.posted == ["Grüße 👋 &amp; &lt;b&gt;"]
    assert stage.model.requests[0].last_user_text == "Send it: Grüße 👋"
    assert await stage.steps() == SLACK_REPLY_STEPS
