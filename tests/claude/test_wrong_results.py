"""What a function of the application returns is the result of a tool, or refused by name: it is not guessed at."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from claude_agent_sdk import SdkMcpTool, tool

from dexbridge.claude.conversation.results import WrongResult, checked_result, text_of
from dexbridge.claude.testing import Reply, Text, ToolUse
from dexbridge.toolsource import OutcomeKind, ToolEffect, ToolPolicy
from tests.fakes.claude_stage import Stage, answer_of

OpenStage = Callable[..., Awaitable[Stage]]
SECRET = "what only the handler knows"
MEND = "must return {'content': [{'type': 'text', 'text': …}]}"

WRONG: list[tuple[Any, str]] = [
    (SECRET, "a value of type str"),
    (None, "None"),
    ([{"type": "text", "text": SECRET}], "a value of type list"),
    ({"result": SECRET}, "a mapping without 'content'"),
    ({"content": SECRET}, "a mapping whose 'content' is a value of type str, not a list"),
    ({"content": None}, "a mapping whose 'content' is None, not a list"),
    ({"content": [SECRET]}, "'content' whose item 0 is a value of type str, not a mapping"),
    ({"content": [{"text": SECRET}]}, "'content' whose item 0 has no 'type'"),
    ({"content": [{"type": "text"}]}, "'content' whose item 0 is of type text, and its 'text' is None"),
    ({"content": [{"type": "text", "text": 7}]}, "its 'text' is a value of type int"),
    ({"content": [], "is_error": "false"}, "a mapping whose 'is_error' is a value of type str, not True or False"),
    ({"content": [], "isError": True}, "a mapping with 'isError', which is written 'is_error' here"),
]


@pytest.mark.parametrize(("returned", "shape"), WRONG)
def test_each_wrong_shape_is_named_with_its_tool_and_without_its_values(returned: Any, shape: str) -> None:
    with pytest.raises(WrongResult) as refused:
        checked_result("export", returned)
    said = str(refused.value)
    assert said.startswith("export returned ")
    assert shape in said
    assert MEND in said
    assert SECRET not in said


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ({"content": []}, ""),
        ({"content": ({"type": "text", "text": "a"}, {"type": "text", "text": "b"})}, "a\nb"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}], "is_error": False}, "a\n[image left out"),
    ],
)
def test_the_right_shape_is_taken(returned: Any, text: str) -> None:
    assert text_of(checked_result("export", returned)).startswith(text)


def returning(name: str, value: Any) -> SdkMcpTool[Any]:
    @tool(name, "Does something.", {})
    async def do(_arguments: dict[str, Any]) -> dict[str, Any]:
        return value

    return do


async def test_a_write_with_a_wrong_result_ends_unknown_and_says_why(
    open_stage: OpenStage, caplog: pytest.LogCaptureFixture
) -> None:
    policies = {"export": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE, requires_approval=False)}
    stage = await open_stage(tools=[returning("export", SECRET)], policies=policies)
    stage.model.script(Reply(ToolUse("mcp__tools__export")), Reply(Text("I do not know.")))

    with caplog.at_level(logging.ERROR):
        assert answer_of(await stage.turn("Export.")) == "I do not know."

    (call,), (result,) = await stage.calls(), stage.results()
    assert (call.outcome, call.attempts) == (OutcomeKind.OUTCOME_UNKNOWN, 1)
    assert call.text.startswith(f"export returned a value of type str. Its function {MEND}")
    assert "It is not known whether export took effect" in call.text
    assert (result.text, result.is_error) == (call.text, True)
    assert "export returned a value of type str" in caplog.text
    assert SECRET not in caplog.text + str(stage.model.requests[-1].body) + str(await stage.events())


async def test_a_read_with_a_wrong_result_is_an_error_that_names_it(open_stage: OpenStage) -> None:
    @tool("blocking", "Looks.", {})  # pyright: ignore[reportArgumentType]
    def blocking(_arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "x"}]}

    @tool("cancels", "Looks.", {})
    async def cancels(_arguments: dict[str, Any]) -> dict[str, Any]:
        raise asyncio.CancelledError

    @tool("slow", "Looks.", {})
    async def slow(_arguments: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(60)
        return {"content": []}

    odd = {"text": SECRET, "none": None, "list": [SECRET], "done": {"content": SECRET}}
    tools = [*(returning(name, value) for name, value in odd.items()), blocking, cancels, slow]
    policies = {each.name: ToolPolicy(ToolEffect.READ) for each in tools}
    policies["slow"] = ToolPolicy(ToolEffect.READ, timeout=timedelta(seconds=0.1))
    stage = await open_stage(tools=tools, policies=policies)
    stage.model.script(Reply(*(ToolUse(f"mcp__tools__{each.name}") for each in tools)), Reply(Text("Seen.")))

    assert answer_of(await stage.turn("Look.")) == "Seen."

    results = {
        stage.model.requests[-1].tool_uses[result.tool_use_id][0].removeprefix("mcp__tools__"): result
        for result in stage.results()
    }
    for name in odd:
        assert results[name].is_error
        assert results[name].text.startswith(f"{name} returned ")
        assert MEND in results[name].text
        assert SECRET not in results[name].text
    assert "blocking is not asynchronous: declare it with async def" in results["blocking"].text
    assert results["cancels"].text == "cancels was cancelled from inside."
    assert results["slow"].text == "slow did not end within 0.1 s."
    stage.assert_one_result_each()
