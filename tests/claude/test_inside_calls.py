"""What runs inside the CLI is seen: an event before each call, kept whatever becomes of the segment."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    create_sdk_mcp_server,
    tool,
)
from sqlalchemy import create_engine, text

from dexbridge.claude import claude_agent_session_flow, runner
from dexbridge.claude.testing import ApiError, Reply, Text, ToolUse
from dexbridge.console.shown.timeline import timeline
from dexbridge.sessions import EventKind, InvalidRequest, SessionEvent
from tests.fakes.claude_stage import LOOK_UP, Stage, answer_of, cli_processes, error_of, slack_reply, until

OpenStage = Callable[..., Awaitable[Stage]]
ECHO = ToolUse("Bash", {"command": "echo inside > trace.txt", "description": "Leaves a trace"})
BASH = {"tools": ["Bash"], "allowed_tools": ["Bash"]}


async def inside(stage: Stage) -> list[SessionEvent]:
    return [event for event in await stage.events() if event.kind is EventKind.INSIDE_CALL_BEGAN]


async def test_every_call_inside_the_cli_is_an_event_and_a_line(open_stage: OpenStage, tmp_path: Any) -> None:
    @tool("weather", "The weather.", {"place": str})
    async def weather(_arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "sunny"}]}

    stage = await open_stage(
        options={
            "tools": ["Bash", "Task"],
            "allowed_tools": ["Bash", "mcp__own__weather"],
            "mcp_servers": {"own": create_sdk_mcp_server("own", tools=[weather])},
            "agents": {"clerk": AgentDefinition(description="Looks up.", prompt="You look up.", tools=[LOOK_UP])},
            "cwd": str(tmp_path),
        }
    )
    task = {"description": "look up", "prompt": "Look up order 2.", "subagent_type": "clerk"}
    stage.model.script(
        Reply(ECHO),
        Reply(ToolUse("mcp__own__weather", {"place": "x" * 1_000})),
        Reply(ToolUse(LOOK_UP, {"order_id": "1"})),
        Reply(ToolUse("Task", task)),
        Reply(ToolUse(LOOK_UP, {"order_id": "2"})),
        Reply(Text("Looked up.")),
        Reply(slack_reply()),
        Reply(Text("Done.")),
    )

    assert answer_of(await stage.turn("Do all.", approve=True)) == "Done."

    assert (tmp_path / "trace.txt").read_text() == "inside\n"
    events = await inside(stage)
    seen = [(event.data["tool"], event.data["by_subagent"]) for event in events]
    assert seen == [
        ("Bash", False),
        ("mcp__own__weather", False),
        ("look_up_order", False),
        (seen[3][0], False),
        ("look_up_order", True),
    ]
    assert seen[3][0] in ("Agent", "Task")
    bash, long, *_ = events
    assert json.loads(bash.data["arguments"]) == dict(ECHO.input)
    assert len(long.data["arguments"]) == 300
    assert {(event.data["step_execution_id"], event.data["turn"]) for event in events} == {("RunModel-1", 1)}
    lines = [line for line in timeline(await stage.snapshot(), await stage.events(), {}) if line.state == "inside"]
    assert [line.title for line in lines][:3] == [
        "Inside · Bash",
        "Inside · mcp__own__weather",
        "Inside · look_up_order",
    ]
    assert "echo inside" in lines[0].note
    assert "begun by a subagent in attempt 1" in lines[4].label


async def test_the_event_is_committed_before_the_tool_runs_and_kept_when_the_segment_fails(
    open_stage: OpenStage,
) -> None:
    seen: list[list[SessionEvent]] = []

    @tool("weather", "The weather.", {})
    async def weather(_arguments: dict[str, Any]) -> dict[str, Any]:
        seen.append(await inside(stage))
        return {"content": [{"type": "text", "text": "sunny"}]}

    stage = await open_stage(
        options={
            "mcp_servers": {"own": create_sdk_mcp_server("own", tools=[weather])},
            "allowed_tools": ["mcp__own__weather"],
            "env": {"CLAUDE_CODE_MAX_RETRIES": "0"},
        }
    )
    call = Reply(ToolUse("mcp__own__weather", {}))
    stage.model.script(
        call, ApiError(500, "api_error", "away"), call, ApiError(400, "invalid_request_error", "too long")
    )

    events = await stage.turn("The weather?")

    assert "(400)" in error_of(events)
    assert [len(committed) for committed in seen] == [1, 2]
    assert [event.data["segment_attempt"] for event in await inside(stage)] == [1, 2]
    assert (await stage.snapshot()).state.transcript_rows == 0


async def test_nothing_runs_inside_a_session_that_was_taken_over(open_stage: OpenStage) -> None:
    async def take_over(*_call: Any) -> PermissionResultAllow:
        """Another Worker claims the leg, in the middle of this one's segment."""
        with create_engine(f"sqlite:///{stage.database}").begin() as connection:
            state = json.loads(connection.execute(text("select state from dexbridge_sessions")).scalar_one())
            state["leg"] |= {"claimed_by": "another", "epoch": state["leg"]["epoch"] + 1}
            connection.execute(
                text("update dexbridge_sessions set state = :state, version = version + 1"),
                {"state": json.dumps(state)},
            )
        over.append(True)
        return PermissionResultAllow()

    over: list[bool] = []
    stage = await open_stage(options={"can_use_tool": take_over})
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "1"})), Reply(Text("Found.")))
    await stage.client.start_session("s-1")
    await stage.client.send_user_message("s-1", "Order 1?")
    await until(lambda: bool(over) and not cli_processes(), "the end of the segment")

    assert stage.desk.looked_up == []
    assert await inside(stage) == []


@pytest.mark.filterwarnings("ignore::claude_agent_sdk.CanUseToolShadowedWarning")
async def test_a_warning_names_once_what_may_write_unasked(
    open_stage: OpenStage, caplog: pytest.LogCaptureFixture
) -> None:
    async def allow(*_call: Any) -> PermissionResultAllow:
        return PermissionResultAllow()

    server = create_sdk_mcp_server("own", tools=[])
    stage = await open_stage(
        options={
            "tools": ["Bash", "Read"],
            "allowed_tools": ["Bash(ls *)", LOOK_UP],
            "mcp_servers": {"own": server},
            "can_use_tool": allow,
        }
    )
    stage.model.script(Reply(Text("One.")), Reply(Text("Two.")))
    await stage.turn("One.")
    await stage.turn("Two.")

    (said,) = [record.getMessage() for record in caplog.records if "without being asked" in record.getMessage()]
    for named in ("tools: Bash", "allowed_tools: Bash(ls *)", "mcp_servers: own", "can_use_tool", "inline_writes"):
        assert named in said
    assert "Read" not in said
    assert "look_up_order" not in said


async def test_the_usual_options_are_not_warned_of(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.model.script(Reply(Text("One.")))
    await stage.turn("One.")

    assert "without being asked" not in caplog.text


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (BASH, "- tools: Bash"),
        ({"tools": None}, "- tools: all built-in tools"),
        ({"tools": {"type": "preset", "preset": "claude_code"}}, "- tools: all built-in tools"),
        ({"mcp_servers": {"own": {"command": "x"}}}, "- mcp_servers: own"),
    ],
)
async def test_inline_writes_refused_fails_the_turn_by_name(
    open_stage: OpenStage, options: dict[str, Any], named: str
) -> None:
    stage = await open_stage(options=options, inline_writes="refuse")

    error = error_of(await stage.turn("Do."))

    assert named in error
    assert "inline_writes" in error
    assert stage.model.requests == ()


@pytest.mark.parametrize("word", ["refused", "deny", "", None])
def test_another_word_for_inline_writes_is_refused_when_the_flow_is_made(word: Any) -> None:
    with pytest.raises(InvalidRequest, match=f'inline_writes must be "allow" or "refuse", not {word!r}'):
        claude_agent_session_flow(lambda _context: ClaudeAgentOptions(), [], flow_type="Any", inline_writes=word)


async def test_inline_writes_refused_leaves_reads_and_offered_tools(open_stage: OpenStage) -> None:
    stage = await open_stage(options={"tools": ["Read", "Glob"]}, inline_writes="refuse")
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "1"})), Reply(slack_reply()), Reply(Text("Done.")))

    assert answer_of(await stage.turn("Do.", approve=True)) == "Done."
    assert stage.desk.looked_up == ["1"]


async def test_with_that_check_off_the_hook_denies_what_may_write(
    open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def nothing(_options: ClaudeAgentOptions) -> None:
        return None

    monkeypatch.setattr(runner, "check_inline_writes", nothing)
    stage = await open_stage(options={**BASH, "cwd": str(tmp_path)}, inline_writes="refuse")
    stage.model.script(Reply(ECHO), Reply(Text("It may not.")))

    assert answer_of(await stage.turn("Do.")) == "It may not."
    (result,) = stage.results()
    assert result.is_error
    assert "Bash may write" in result.text
    assert not (tmp_path / "trace.txt").exists()
    assert await inside(stage) == []


async def test_a_hook_of_the_application_for_other_tools_is_the_clis_affair(
    open_stage: OpenStage, tmp_path: Any
) -> None:
    async def deny(*_call: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}

    stage = await open_stage(
        options={**BASH, "cwd": str(tmp_path), "hooks": {"PreToolUse": [HookMatcher(hooks=[deny])]}}
    )
    stage.model.script(Reply(ECHO), Reply(Text("No.")))

    assert answer_of(await stage.turn("Do.")) == "No."
    # The event says that it was asked for; that it ran is more than the hook can know.
    assert [event.data["tool"] for event in await inside(stage)] == ["Bash"]
    assert not (tmp_path / "trace.txt").exists()
