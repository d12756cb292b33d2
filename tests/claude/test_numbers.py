"""The CLI is JavaScript: a number it has rounded is never shown, approved or sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from claude_agent_sdk import SdkMcpTool, tool

from dexbridge.claude.testing import Reply, Text, ToolUse
from dexbridge.sessions import EventKind
from dexbridge.toolsource import ToolEffect, ToolPolicy
from tests.fakes.claude_stage import Stage, answer_of

OpenStage = Callable[..., Awaitable[Stage]]
PAY = "mcp__tools__pay"
EXACT = 725653563933458432
SCHEMA = {
    "type": "object",
    "properties": {
        "account": {"type": ["integer", "string"]},
        "details": {"type": "object"},
        "amount": {"type": "number"},
    },
}


def pay_tool(paid: list[dict[str, Any]]) -> SdkMcpTool[Any]:
    @tool("pay", "Pays.", SCHEMA)
    async def pay(arguments: dict[str, Any]) -> dict[str, Any]:
        paid.append(arguments)
        return {"content": [{"type": "text", "text": "Paid."}]}

    return pay


async def test_a_rounded_number_is_refused_and_its_text_arrives_exactly(open_stage: OpenStage) -> None:
    paid: list[dict[str, Any]] = []
    stage = await open_stage(tools=[pay_tool(paid)], policies={"pay": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE)})
    stage.model.script(
        Reply(ToolUse(PAY, {"account": EXACT, "details": {"ids": [EXACT]}, "amount": 7.25e17})),
        # 1e400 arrives as null, which is told apart from a null only where none is taken.
        Reply(ToolUse(PAY, {"amount": 10**400})),
        Reply(ToolUse(PAY, {"account": str(EXACT), "details": {"ids": [str(EXACT)]}, "amount": 1.5})),
        Reply(Text("Paid.")),
    )

    waiting = await stage.turn("Pay.")

    refused, overflown = [result.text for result in stage.results()]
    for place in ("account", "details.ids.0"):
        assert f"{place}: 725653563933458400 may have been rounded, as all beyond 9007199254740991: pass it" in refused
    assert "amount: 725000000000000000 may have been rounded" in refused
    assert "no string is taken here" in refused
    assert "amount: must be a number, not null, as which a number beyond 1.8e308 arrives too" in overflown
    exact = {"account": str(EXACT), "details": {"ids": [str(EXACT)]}, "amount": 1.5}
    assert [event.kind for event in waiting].count(EventKind.INTERRUPT_OPENED) == 1
    assert waiting[-1].data["arguments"] == exact
    assert answer_of(await stage.decide(approve=True)) == "Paid."
    assert paid == [exact]
    stage.assert_one_result_each()


async def test_what_the_cli_makes_of_arguments_is_what_is_shown_and_given(open_stage: OpenStage) -> None:
    given: list[dict[str, Any]] = []

    @tool(
        "mark",
        "Marks.",
        {"type": "object", "properties": {"b": {"type": "boolean"}, "i": {"type": "integer"}, "o": {}}},
    )
    async def mark(arguments: dict[str, Any]) -> dict[str, Any]:
        given.append(arguments)
        return {"content": [{"type": "text", "text": "Marked."}]}

    stage = await open_stage(tools=[mark], policies={"mark": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE)})
    sent = {"b": "true", "i": "5", "o": {"n": 10**400, "__proto__": 1, "t": "true"}, "__proto__": {"x": 1}}
    stage.model.script(Reply(ToolUse("mcp__tools__mark", sent)), Reply(Text("Marked.")))

    waiting = await stage.turn("Mark.")
    assert answer_of(await stage.decide(approve=True)) == "Marked."

    arrived = {"b": True, "i": 5, "o": {"n": None, "t": "true"}}
    (call,) = await stage.calls()
    ((_, replayed),) = stage.model.requests[-1].tool_uses.values()
    assert waiting[-1].data["arguments"] == given[0] == call.arguments == replayed == arrived
