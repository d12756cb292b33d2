"""What is offered reaches the model as it was defined; what the API refuses is refused when the flow is made."""

from __future__ import annotations

from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, SdkMcpTool, tool

from dexbridge.claude import ClaudeAgentOptionsContext, claude_agent_session_flow
from dexbridge.claude.runner import ClaudeRunner
from dexbridge.claude.testing import Reply, Text
from dexbridge.sessions import AgentSessionFlow, SessionEvent
from dexbridge.toolsource import InvalidToolDefinition, OfferedTools, ToolEffect, ToolPolicy
from tests.fakes.claude_stage import FLOW, Stage, agent_options, answer_of, error_of
from tests.fakes.function_tool import FunctionTool

NAME = "n" * 52
LONGEST_KEY = "k" * 64


def described(name: str, description: str, schema: Any) -> SdkMcpTool[Any]:
    @tool(name, description, schema)
    async def do(_arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": []}

    return do


def object_with(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def build(_context: ClaudeAgentOptionsContext) -> ClaudeAgentOptions:
    return agent_options("http://127.0.0.1:1")


async def test_at_its_limits_a_tool_reaches_the_model_whole(bare_stage: Stage) -> None:
    schema = object_with(
        **{LONGEST_KEY: {"type": "string", "description": "d" * 20_000}, "a.b-c": object_with(**{"größe [cm]": {}})}
    )
    offered = [
        described(NAME, "a" * 4096, schema),
        described("emoji", "😀" * 2048, object_with(a={"enum": ["ü", "日本", 2**53 - 1]})),
    ]
    await bare_stage.open(bare_stage.flow(tools=offered))
    bare_stage.model.script(Reply(Text("Hello.")))

    assert answer_of(await bare_stage.turn("Hello?")) == "Hello."

    listed = {each["name"]: each for each in bare_stage.model.requests[0].body["tools"]}
    for one in offered:
        told = listed[f"mcp__tools__{one.name}"]
        assert told["description"] == one.description
        assert told["input_schema"] == one.input_schema


async def offer_unchecked(stage: Stage, **changes: Any) -> list[SessionEvent]:
    """A turn of a session with a tool that was not checked when it was defined."""
    tools = OfferedTools([FunctionTool(**changes)])
    runner = ClaudeRunner(lambda _context: agent_options(stage.model.url), tools, FLOW)
    stage.flow()
    await stage.open(AgentSessionFlow(flow_type=FLOW, runner=runner, tools=tools))
    stage.model.script(Reply(Text("Hello.")))
    return await stage.turn("Hello?")


async def test_a_parameter_name_the_api_refuses_would_fail_every_turn(bare_stage: Stage) -> None:
    """Why names of parameters are checked at the definition: this CLI drops such a tool, others let the API refuse."""
    events = await offer_unchecked(bare_stage, input_schema=object_with(**{"filter[app]": {}}))
    assert "does not offer mcp__tools__cancel_order" in error_of(events)


async def test_the_cli_changes_without_a_word_what_is_refused_at_the_definition(bare_stage: Stage) -> None:
    """Why descriptions and values are checked."""
    properties = {"mark": {"enum": ["①"]}, "id": {"const": 725653563933458432}, "__proto__": {}}
    events = await offer_unchecked(bare_stage, description="a" * 4097, input_schema=object_with(**properties))

    assert answer_of(events) == "Hello."
    (told,) = [each for each in bare_stage.model.requests[0].body["tools"] if each["name"].endswith("cancel_order")]
    assert told["description"] == "a" * 4096 + "… [truncated]"
    assert told["input_schema"]["properties"] == {"mark": {"enum": ["1"]}, "id": {"const": 725653563933458400}}


def test_all_tools_that_cannot_be_offered_are_named_in_one_error() -> None:
    wrong = [
        described("search", "Searches.", {"filter[app]": str, "$top": int}),
        described("read", "a" * 20_000, {"id": str}),
        described("fine", "Fine.", {"id": str}),
        described("measure", "Measures.", object_with(**{"größe": {}, "x" * 65: {}})),
    ]
    with pytest.raises(InvalidToolDefinition) as refused:
        claude_agent_session_flow(build, wrong, flow_type="Orders")
    said = str(refused.value)
    for part in ("'search'", "'filter[app]'", "'$top'", "'read'", "20,000", "4,096", "'measure'", "'größe'", "x" * 40):
        assert part in said
    assert "'fine'" not in said


def test_what_is_no_tool_and_what_is_no_policy_is_named() -> None:
    def look_up() -> None: ...

    with pytest.raises(InvalidToolDefinition, match=r"custom_tools\[0\] is a function: make it with the SDK's @tool"):
        claude_agent_session_flow(build, [look_up], flow_type="Orders")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidToolDefinition, match="tool_policies of 'search' must be a ToolPolicy"):
        claude_agent_session_flow(
            build,
            [described("search", "Searches.", {"id": str})],
            flow_type="Orders",
            tool_policies={"search": ToolEffect.READ},  # pyright: ignore[reportArgumentType]
        )
    policies = {"search": ToolPolicy(ToolEffect.READ)}
    flow = claude_agent_session_flow(
        build, [described("search", "S.", {"id": str})], flow_type="Orders", tool_policies=policies
    )
    assert [each.effect for each in flow.tools] == [ToolEffect.READ]
