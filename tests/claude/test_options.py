"""Options an application must not set, each named, all at once."""

from __future__ import annotations

from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions

from dexbridge.claude.options.checks import check_options
from dexbridge.claude.versions import TESTED_CLI, TESTED_SDK, warn_if_untested
from dexbridge.sessions import SegmentFailed
from dexbridge.toolsource import OfferedTools
from tests.fakes.claude_stage import API_KEY, LIST, LOOK_UP, POST, Stage

WORKER = {"ANTHROPIC_API_KEY": API_KEY}


@pytest.fixture
def tools(bare_stage: Stage) -> OfferedTools:
    return bare_stage.flow().tools


def faults(tools: OfferedTools, worker: dict[str, str] | None = None, **options: Any) -> list[str]:
    """The lines of the refusal; none when the options are accepted."""
    try:
        check_options(ClaudeAgentOptions(**options), tools, WORKER if worker is None else worker)
    except SegmentFailed as refusal:
        failed = refusal
    else:
        return []
    assert failed.permanent
    first, *lines = str(failed).split("\n")
    assert first == "The Claude options of this session cannot be used:"
    return lines


@pytest.mark.parametrize(
    "entry",
    [POST, LIST, f"{POST}(*)", "mcp__tools", "mcp__tools__*", "mcp__tools(x)", "mcp__*", "*", "mcp__tools__slack_*"],
)
def test_an_allowed_tools_entry_that_covers_a_leaving_tool_is_refused(tools: OfferedTools, entry: str) -> None:
    (line,) = faults(tools, allowed_tools=["Read", entry])
    assert f"allowed_tools has {entry!r}" in line
    (line,) = faults(tools, extra_args={"allowed-tools": f"Read {entry}"})
    assert f"extra_args has {entry!r}" in line


@pytest.mark.parametrize("written", [f"Read,{POST}", f"Read, {POST}", f"Bash(git log, git show) {POST}", f" {POST}"])
def test_an_entry_that_the_cli_takes_for_several_is_looked_at_in_parts(tools: OfferedTools, written: str) -> None:
    (line,) = faults(tools, allowed_tools=[written])
    assert f"allowed_tools has {POST!r}" in line


@pytest.mark.parametrize("entry", [LOOK_UP, "Read", "mcp__other", "mcp__toolsmith__*", "Bash(ls *)"])
def test_another_allowed_tools_entry_is_accepted(tools: OfferedTools, entry: str) -> None:
    assert faults(tools, allowed_tools=[entry]) == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"permission_mode": "bypassPermissions"}, "permission_mode has 'bypassPermissions'"),
        ({"mcp_servers": "servers.json"}, "mcp_servers is a path"),
        ({"mcp_servers": {"tools": {"command": "x"}}}, "a server called 'tools'"),
        ({"mcp_servers": {"tools__x": {"command": "x"}}}, "a server called 'tools__x'"),
        ({"mcp_servers": {"tools..x": {"command": "x"}}}, "a server called 'tools..x'"),
        ({"resume": "x"}, "resume is set"),
        ({"continue_conversation": True}, "continue_conversation is set"),
        ({"session_id": "x"}, "session_id is set"),
        ({"fork_session": True}, "fork_session is set"),
        ({"permission_prompt_tool_name": "x"}, "permission_prompt_tool_name is set"),
        ({"disallowed_tools": [POST]}, f"disallowed_tools has {POST!r}"),
        ({"disallowed_tools": ["mcp__tools"]}, "disallowed_tools has 'mcp__tools'"),
        ({"env": {"CLAUDE_CODE_SIMPLE": "1"}}, "CLAUDE_CODE_SIMPLE is set in env"),
        ({"extra_args": {"bare": None}}, "extra_args has 'bare'"),
        ({"extra_args": {"--bare": None}}, "extra_args has '--bare'"),
        ({"extra_args": {"dangerously-skip-permissions": None}}, "extra_args has 'dangerously-skip-permissions'"),
        ({"extra_args": {"permission-mode": "bypassPermissions"}}, "extra_args has 'permission-mode'"),
        ({"extra_args": {"mcp-config": "{}"}}, "extra_args has 'mcp-config'"),
        ({"extra_args": {"resume": "x"}}, "extra_args has 'resume'"),
        ({"settings": '{"env": {"CLAUDE_CODE_SIMPLE": "1"}}'}, "CLAUDE_CODE_SIMPLE is set in settings"),
        ({"settings": '{"permissions": {"allow": ["mcp__tools"]}}'}, "settings has 'mcp__tools'"),
        ({"settings": '{"permissions": {"defaultMode": "bypassPermissions"}}'}, "settings has 'bypassPermissions'"),
        ({"extra_args": {"settings": "{}"}}, "extra_args has 'settings'"),
    ],
)
def test_a_forbidden_option_is_named(tools: OfferedTools, options: dict[str, Any], named: str) -> None:
    (line,) = faults(tools, **options)
    assert named in line


@pytest.mark.parametrize("value", ["", "0", "false", "off"])
def test_simple_mode_that_is_off_is_accepted(tools: OfferedTools, value: str) -> None:
    assert faults(tools, env={"CLAUDE_CODE_SIMPLE": value}) == []


def test_a_missing_credential_is_named_and_any_of_the_applications_choice_is_one(tools: OfferedTools) -> None:
    assert "set ANTHROPIC_API_KEY" in faults(tools, {})[0]
    assert "set ANTHROPIC_API_KEY" in faults(tools, {"ANTHROPIC_API_KEY": "  "})[0]
    # The Worker's other credentials are blanked, so they are none.
    assert "set ANTHROPIC_API_KEY" in faults(tools, {"CLAUDE_CODE_OAUTH_TOKEN": "x"})[0]
    assert faults(tools, {}, env={"CLAUDE_CODE_USE_BEDROCK": "1"}) == []
    assert faults(tools, {}, env={"ANTHROPIC_API_KEY": API_KEY}) == []


def test_all_faults_are_named_at_once(tools: OfferedTools) -> None:
    lines = faults(
        tools,
        {"CLAUDE_CODE_SIMPLE": "yes"},
        allowed_tools=[POST, "mcp__tools"],
        permission_mode="bypassPermissions",
        mcp_servers={"tools": {"command": "x"}},
        resume="x",
        extra_args={"bare": None},
        env={"CLAUDE_CODE_SIMPLE": "1"},
    )
    assert len(lines) == 9
    assert all(line.startswith("- ") for line in lines)


def test_an_untested_version_is_warned_of_once_with_both_names(caplog: pytest.LogCaptureFixture) -> None:
    for version in (TESTED_CLI, "1.2.3-other", "1.2.3-other"):
        warn_if_untested({"claude_code_version": version})

    other, *rest = [record for record in caplog.records if "1.2.3-other" in record.getMessage()]
    assert rest == []
    assert f"claude-agent-sdk {TESTED_SDK} and Claude Code {TESTED_CLI}" in other.getMessage()
