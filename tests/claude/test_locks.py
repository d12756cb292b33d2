"""The two locks, each with the other one off, and the options that would open one."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from claude_agent_sdk import HookMatcher, PermissionResultAllow
from mcp.types import CallToolResult, TextContent

from dexbridge.claude import runner
from dexbridge.claude.locks.handler import HandlerLock
from dexbridge.claude.testing import Reply, Text, ToolUse
from dexbridge.connectors import slack
from dexbridge.sessions import CallResult
from dexbridge.toolsource import ConnectorTool, OutcomeKind
from tests.fakes.claude_stage import (
    CANCEL,
    CHANNEL,
    COLD,
    LIST,
    LOOK_UP,
    POST,
    SLACK_REPLY_STEPS,
    THREAD,
    Stage,
    answer_of,
    error_of,
    slack_reply,
)

OpenStage = Callable[..., Awaitable[Stage]]


async def allow_all(_tool: str, arguments: dict[str, Any], _context: Any) -> PermissionResultAllow:
    return PermissionResultAllow(updated_input=arguments)


async def hook_that_allows(*_call: Any) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}


def without_option_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock under test must hold even when the check in front of it does not."""

    def nothing(*_given: object) -> None:
        return None

    monkeypatch.setattr(runner, "check_options", nothing)


@pytest.mark.parametrize("call", [slack_reply(), ToolUse(LIST, {"channel_id": CHANNEL, "thread_timestamp": THREAD})])
async def test_c07_without_the_hook_the_handler_lets_nothing_out(
    open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch, call: ToolUse
) -> None:
    without_option_checks(monkeypatch)
    stage = await open_stage(options={"env": {"CLAUDE_CODE_SIMPLE": "1"}, "can_use_tool": allow_all})
    stage.model.script(
        Reply(call), Reply(ToolUse(CANCEL, {"order_id": "1", "reason": "x"})), Reply(Text("Nothing could be done."))
    )

    events = await stage.turn("Post it, then cancel order 1.")

    assert answer_of(events) == "Nothing could be done."
    assert stage.slack.requests == []
    assert stage.desk.cancelled == []
    assert [result.is_error for result in stage.results()] == [True, True]
    assert all("its calls must leave the conversation" in result.text for result in stage.results())
    assert await stage.steps() == ["RunModel"]
    assert await stage.calls() == ()
    stage.assert_one_result_each()


async def test_c07_without_the_hook_no_stale_result_is_handed_out(
    open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_option_checks(monkeypatch)
    changes: dict[str, Any] = {"env": {}, "can_use_tool": allow_all}
    stage = await open_stage(options=changes, processes=COLD)
    stage.model.script(Reply(slack_reply("Same.")))
    await stage.turn("Post it.")
    changes["env"] = {"CLAUDE_CODE_SIMPLE": "1"}
    # The resume hands the recorded result over, and the model calls the same tool with the same arguments again.
    stage.model.script(Reply(slack_reply("Same.")), Reply(Text("The second one was refused.")))

    events = await stage.decide(approve=True)

    assert answer_of(events) == "The second one was refused."
    first, second = stage.results()
    assert not first.is_error
    assert second.is_error
    assert "its calls must leave the conversation" in second.text
    assert stage.posted == ["Same."]
    assert len(await stage.calls()) == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"permission_mode": "bypassPermissions"}, "permission_mode has 'bypassPermissions'"),
        ({"allowed_tools": [POST]}, f"allowed_tools has {POST!r}"),
        ({"allowed_tools": ["mcp__tools"]}, "allowed_tools has 'mcp__tools'"),
    ],
)
async def test_c19_options_that_would_let_a_call_run_fail_the_attempt(
    open_stage: OpenStage, options: dict[str, Any], named: str
) -> None:
    stage = await open_stage(options=options)

    events = await stage.turn("Post it.")

    assert named in error_of(events)
    assert stage.model.requests == ()
    assert (await stage.snapshot()).state.prompt[0].text == "Post it."


@pytest.mark.parametrize(
    ("options", "worker", "named"),
    [
        ({"env": {"CLAUDE_CODE_SIMPLE": "1"}}, {}, "CLAUDE_CODE_SIMPLE is set in env"),
        ({}, {"CLAUDE_CODE_SIMPLE": "true"}, "CLAUDE_CODE_SIMPLE is set in the Worker's environment"),
        ({"settings": '{"env": {"CLAUDE_CODE_SIMPLE": "1"}}'}, {}, "CLAUDE_CODE_SIMPLE is set in settings"),
        ({"extra_args": {"bare": None}}, {}, "extra_args has 'bare'"),
    ],
)
async def test_c20_what_switches_hooks_off_fails_the_attempt(
    open_stage: OpenStage,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    worker: dict[str, str],
    named: str,
) -> None:
    for name, value in worker.items():
        monkeypatch.setenv(name, value)
    stage = await open_stage(options=options)

    events = await stage.turn("Post it.")

    assert named in error_of(events)
    assert stage.model.requests == ()
    assert (await stage.snapshot()).state.status.value == "idle"


async def test_c20_with_that_check_off_the_handler_lets_nothing_out(
    open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_option_checks(monkeypatch)
    stage = await open_stage(options={"extra_args": {"bare": None}, "allowed_tools": [POST]})
    stage.model.script(Reply(slack_reply()), Reply(Text("It was refused.")))

    events = await stage.turn("Post it.")

    assert answer_of(events) == "It was refused."
    assert stage.slack.requests == []
    (result,) = stage.results()
    assert result.is_error
    assert await stage.calls() == ()


@pytest.mark.parametrize(
    "options",
    [{"can_use_tool": allow_all}, {"hooks": {"PreToolUse": [HookMatcher(hooks=[hook_that_allows])]}}],
    ids=["can_use_tool", "hook"],
)
async def test_c21_what_allows_every_tool_does_not_keep_a_call_in_the_cli(
    open_stage: OpenStage, options: dict[str, Any]
) -> None:
    stage = await open_stage(options=options)
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))

    events = await stage.turn("Post it.", approve=True)

    assert answer_of(events) == "Posted."
    assert await stage.steps() == SLACK_REPLY_STEPS
    assert stage.posted == ["On its way."]
    stage.assert_one_result_each()


async def test_without_the_handlers_refusal_the_hook_still_defers(
    open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[str] = []

    def let_through(_self: HandlerLock, name: str, _tool_use_id: str) -> CallToolResult:
        reached.append(name)
        return CallToolResult(content=[TextContent(type="text", text="ok")])

    monkeypatch.setattr(HandlerLock, "_refuse", let_through)
    stage = await open_stage(options={"can_use_tool": allow_all})
    stage.model.script(Reply(slack_reply()), Reply(slack_reply("Again.")), Reply(Text("Posted.")))

    events = await stage.turn("Post it.", approve=True)

    assert answer_of(events) == "Posted."
    assert reached == []
    assert stage.posted == ["On its way.", "Again."]
    assert [call.outcome for call in await stage.calls()] == [OutcomeKind.SUCCEEDED] * 2


def test_the_handler_holds_no_connection(bare_stage: Stage) -> None:
    tools = bare_stage.flow().tools
    bound = next(tool.bound for tool in tools if tool.bound is not None)
    recorded = CallResult(tool_use_id="toolu_1", tool="slack_post_thread_reply", text="ok", is_error=False)
    lock = HandlerLock(tools, recorded, lambda _tool_use_id: None)

    def leads_out(*roots: object) -> list[object]:
        return [
            thing for thing in reachable(*roots) if isinstance(thing, slack.Connection | ConnectorTool | type(bound))
        ]

    assert leads_out(lock, lock.server()["instance"]) == []
    # The walk finds them where they are, so the line above can fail.
    assert leads_out(tools) != []


def reachable(*roots: object) -> list[object]:
    """Everything the roots lead to, without the modules and classes every object leads to."""
    seen: dict[int, object] = {}
    waiting = list(roots)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, type) or type(thing).__name__ == "module":
            continue
        seen[id(thing)] = thing
        skipped = getattr(thing, "__globals__", None)
        waiting.extend(other for other in gc.get_referents(thing) if other is not skipped)
    return list(seen.values())


async def test_a_read_runs_in_the_cli_only_with_arguments_that_fit(stage: Stage) -> None:
    stage.model.script(
        Reply(ToolUse(LOOK_UP, {"order_id": 7})), Reply(ToolUse(LOOK_UP, {"order_id": "7"})), Reply(Text("Found."))
    )

    events = await stage.turn("Order 7?")

    assert answer_of(events) == "Found."
    assert stage.desk.looked_up == ["7"]
    refused, found = stage.results()
    assert refused.is_error
    assert "order_id: must be a string, not a number" in refused.text
    assert not found.is_error
