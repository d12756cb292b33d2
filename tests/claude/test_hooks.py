"""Hooks, servers and limits of the application beside ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from claude_agent_sdk import HookMatcher, create_sdk_mcp_server, tool

from dexbridge.claude.testing import Reply, Text, ToolUse
from tests.fakes.claude_stage import LOOK_UP, POST, SLACK_REPLY_STEPS, Stage, answer_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]
WEATHER = "mcp__own__weather"


def decision(kind: str, **more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": kind, **more}}


async def test_a_users_hook_may_rewrite_the_input_of_the_applications_own_tools_only(open_stage: OpenStage) -> None:
    asked: list[str] = []
    seen: list[str] = []

    @tool("weather", "The weather.", {"place": str})
    async def weather(arguments: dict[str, Any]) -> dict[str, Any]:
        asked.append(arguments["place"])
        return {"content": [{"type": "text", "text": "sunny"}]}

    async def rewrite(hook_input: Any, _tool_use_id: str | None, _context: Any) -> Any:
        seen.append(hook_input["tool_name"])
        return decision("allow", updatedInput={"place": "Oslo", "text": "Rewritten.", "order_id": "666"})

    stage = await open_stage(
        options={
            "mcp_servers": {"own": create_sdk_mcp_server("own", tools=[weather])},
            "hooks": {"PreToolUse": [HookMatcher(hooks=[rewrite])]},
        }
    )
    stage.model.script(
        Reply(ToolUse(WEATHER, {"place": "Bergen"}), ToolUse(LOOK_UP, {"order_id": "1"})),
        Reply(slack_reply("As written.")),
        Reply(Text("Done.")),
    )

    assert answer_of(await stage.turn("Do all.", approve=True)) == "Done."

    assert asked == ["Oslo"]
    assert sorted(seen) == sorted([WEATHER, LOOK_UP, POST])
    assert stage.desk.looked_up == ["1"]
    assert stage.posted == ["As written."]
    assert await stage.steps() == SLACK_REPLY_STEPS
    stage.assert_one_result_each()


async def test_a_users_hook_that_asks_or_defers_does_not_hide_a_recorded_result(open_stage: OpenStage) -> None:
    async def ask(*_call: Any) -> Any:
        return decision("ask")

    async def defer(*_call: Any) -> Any:
        return decision("defer")

    stage = await open_stage(options={"hooks": {"PreToolUse": [HookMatcher(hooks=[ask, defer])]}})
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))

    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."
    assert stage.posted == ["On its way."]
    stage.assert_one_result_each()


async def test_other_hooks_of_the_application_still_run(open_stage: OpenStage) -> None:
    ran: list[str] = []

    async def after(hook_input: Any, _tool_use_id: str | None, _context: Any) -> Any:
        ran.append(hook_input["tool_name"])
        return {}

    stage = await open_stage(options={"hooks": {"PostToolUse": [HookMatcher(hooks=[after])]}})
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "1"})), Reply(Text("Found.")))

    assert answer_of(await stage.turn("Order 1?")) == "Found."
    assert ran == [LOOK_UP]


async def test_limits_of_a_segment_count_the_same_whether_a_process_could_wait_or_not(open_stage: OpenStage) -> None:
    stage = await open_stage(options={"max_turns": 1, "max_budget_usd": 100})
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))

    # In a process that waits, the answer would be the second turn.
    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."
    assert stage.posted == ["On its way."]
