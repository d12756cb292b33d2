"""What the application has against a call of an offered tool: a deny counts, nothing else does."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny

from dexbridge.claude import CliProcesses
from dexbridge.claude.testing import Reply, Text, ToolUse
from dexbridge.sessions import EventKind
from tests.fakes.claude_stage import COLD, LOOK_UP, POST, Stage, answer_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]


def decision(kind: str, **more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": kind, **more}}


async def hook_that_denies(*_call: Any) -> Any:
    return decision("deny", permissionDecisionReason="Not on a Sunday.")


async def hook_that_blocks(*_call: Any) -> Any:
    return {"decision": "block", "reason": "Not on a Sunday."}


async def permission_that_denies(*_call: Any) -> Any:
    return PermissionResultDeny(message="Not on a Sunday.")


def hooks(*functions: Any, matcher: str | None = None) -> dict[str, Any]:
    return {"hooks": {"PreToolUse": [HookMatcher(matcher=matcher, hooks=list(functions))]}}


@pytest.mark.parametrize(
    "options",
    [
        hooks(hook_that_denies, matcher="mcp__tools__slack_.*"),
        hooks(hook_that_blocks),
        {"can_use_tool": permission_that_denies},
    ],
    ids=["hook", "blocking hook", "can_use_tool"],
)
async def test_a_call_that_the_application_denies_does_not_leave(
    open_stage: OpenStage, options: dict[str, Any]
) -> None:
    stage = await open_stage(options=options)
    stage.model.script(Reply(slack_reply()), Reply(Text("Then on Monday.")))

    events = await stage.turn("Post it.")

    assert answer_of(events) == "Then on Monday."
    assert not [event for event in events if event.kind is EventKind.INTERRUPT_OPENED]
    assert stage.slack.requests == []
    assert await stage.calls() == ()
    (result,) = stage.results()
    assert result.is_error
    assert "Not on a Sunday." in result.text


async def test_a_read_that_the_application_denies_does_not_run(open_stage: OpenStage) -> None:
    stage = await open_stage(options=hooks(hook_that_denies))
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "1"})), Reply(Text("No.")))

    events = await stage.turn("Order 1?")

    assert stage.desk.looked_up == []
    assert "Not on a Sunday." in stage.results()[0].text
    assert EventKind.INSIDE_CALL_BEGAN not in [event.kind for event in events]


@pytest.mark.slow
async def test_a_hook_or_permission_that_fails_denies(open_stage: OpenStage, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(*_call: Any) -> Any:
        raise RuntimeError("secret-of-the-application")

    changes: dict[str, Any] = hooks(fail)
    stage = await open_stage(options=changes)
    stage.model.script(Reply(slack_reply()), Reply(Text("One.")), Reply(slack_reply()), Reply(Text("Two.")))
    assert answer_of(await stage.turn("Post it.")) == "One."
    changes.clear()
    changes["can_use_tool"] = fail
    assert answer_of(await stage.turn("Post it.")) == "Two."

    assert stage.slack.requests == []
    first, second = stage.results()
    assert "A hook of the application failed" in first.text
    assert "can_use_tool of the application failed" in second.text
    assert "raised RuntimeError" in caplog.text
    assert "secret-of-the-application" not in caplog.text + str(await stage.events())


@pytest.mark.parametrize("processes", [CliProcesses(), COLD], ids=["parked", "cold"])
async def test_the_application_is_asked_once_with_a_copy_and_never_on_a_replay(
    open_stage: OpenStage, processes: CliProcesses, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    async def rewrite(hook_input: Any, *_more: Any) -> Any:
        asked.append(f"hook {hook_input['tool_input'].get('text', '')}")
        hook_input["tool_input"]["text"] = "Changed in place."
        return decision("allow", updatedInput={"text": "Rewritten."})

    async def permit(tool: str, arguments: dict[str, Any], _context: Any) -> Any:
        asked.append(f"permission {arguments.get('text', '')}")
        arguments["text"] = "Changed in place."
        # Asked again about a call that was made, it would deny.
        late = len(asked) > 2
        return PermissionResultDeny() if late else PermissionResultAllow(updated_input=arguments)

    caplog.set_level(logging.WARNING, "dexbridge")
    stage = await open_stage(options={**hooks(rewrite), "can_use_tool": permit}, processes=processes)
    stage.model.script(Reply(slack_reply("As written.")), Reply(Text("Posted.")))

    events = await stage.turn("Post it.", approve=True)

    assert answer_of(events) == "Posted."
    assert asked == ["hook As written.", "permission As written."]
    (opened,) = [event for event in events if event.kind is EventKind.INTERRUPT_OPENED]
    assert opened.data["arguments"]["text"] == "As written."
    assert stage.posted == ["As written."]
    assert caplog.text.count("a rewrite is ignored") == 2
    assert "Rewritten." not in caplog.text
    stage.assert_one_result_each()


async def test_a_hook_for_other_tools_is_not_asked(open_stage: OpenStage) -> None:
    stage = await open_stage(options=hooks(hook_that_denies, matcher="Bash|mcp__other__slack_post_thread_reply"))
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))

    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."


@pytest.mark.filterwarnings("ignore::claude_agent_sdk.CanUseToolShadowedWarning")
async def test_a_read_that_allowed_tools_lets_through_is_not_brought_before_can_use_tool(open_stage: OpenStage) -> None:
    stage = await open_stage(options={"can_use_tool": permission_that_denies, "allowed_tools": [LOOK_UP]})
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "1"})), Reply(Text("Found.")))

    assert answer_of(await stage.turn("Order 1?")) == "Found."
    assert stage.desk.looked_up == ["1"]


@pytest.mark.parametrize("processes", [CliProcesses(), COLD], ids=["parked", "cold"])
async def test_what_a_hook_makes_of_a_result_does_not_change_a_recorded_one(
    open_stage: OpenStage, processes: CliProcesses
) -> None:
    heard: list[str] = []

    async def replace_output(hook_input: Any, *_more: Any) -> Any:
        heard.append(hook_input["tool_name"])
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": "Hidden."}}

    stage = await open_stage(
        options={"hooks": {"PostToolUse": [HookMatcher(hooks=[replace_output])]}}, processes=processes
    )
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")), Reply(Text("And on.")))

    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."
    assert answer_of(await stage.turn("Go on.")) == "And on."
    assert heard == [POST]
    (call,) = await stage.calls()
    (result,) = stage.results()
    assert result.text == call.text
