"""Settings, wherever they are, that would act on a call after it was approved: refused before anybody is asked."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, HookMatcher

from dexbridge.claude.options.checks import check_options
from dexbridge.claude.testing import Reply, Text, ToolUse
from dexbridge.sessions import EventKind, SegmentFailed
from tests.fakes.claude_stage import API_KEY, LOOK_UP, POST, Stage, answer_of, error_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]
WORKER = {"ANTHROPIC_API_KEY": API_KEY}
DENY = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}'


def hook(event: str, matcher: str | None = None, command: str = f"echo '{DENY}'") -> dict[str, Any]:
    entry: dict[str, Any] = {"hooks": [{"type": "command", "command": command}]}
    return {"hooks": {event: [entry if matcher is None else {"matcher": matcher, **entry}]}}


def write(file: Path, content: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"settings": json.dumps(hook("PreToolUse"))}, "settings has a PreToolUse hook for 'all tools'"),
        ({"settings": json.dumps(hook("PostToolUse", "mcp__.*"))}, "settings has a PostToolUse hook for 'mcp__.*'"),
        ({"settings": json.dumps({"permissions": {"ask": [POST]}})}, f"settings has {POST!r} in permissions.ask"),
        ({"settings": json.dumps({"permissions": {"deny": [POST]}})}, f"settings has {POST!r} in permissions.deny"),
        ({"settings": json.dumps({"permissions": {"defaultMode": "plan"}})}, "settings has 'plan'"),
        ({"permission_mode": "plan"}, "permission_mode has 'plan'"),
    ],
    ids=["deny hook", "output hook", "ask", "deny", "default mode", "plan"],
)
async def test_what_acts_after_an_approval_is_refused_before_a_person_is_asked(
    open_stage: OpenStage, options: Mapping[str, Any], named: str
) -> None:
    changes = dict(options)
    stage = await open_stage(options=changes)
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))

    events = await stage.turn("Post it.", approve=True)

    assert named in error_of(events)
    assert EventKind.INTERRUPT_OPENED not in [event.kind for event in events]
    assert stage.slack.requests == []
    assert stage.model.requests == ()
    # Without it the session goes on, with the message.
    changes.clear()
    assert answer_of(await stage.turn("Now?", approve=True)) == "Posted."
    assert stage.posted == ["On its way."]


async def test_settings_that_touch_no_offered_tool_are_used(open_stage: OpenStage, tmp_path: Path) -> None:
    settings = {
        **hook("PreToolUse", "Bash|Write"),
        "permissions": {"deny": ["Read(./secrets/**)", "mcp__other"], "ask": ["Bash"], "defaultMode": "acceptEdits"},
        "model": "claude-opus-5-5",
    }
    file = write(tmp_path / "settings.json", settings)
    stage = await open_stage(options={"settings": str(file), "tools": ["Bash"], "allowed_tools": ["Bash"]})
    stage.model.script(
        Reply(ToolUse("Bash", {"command": f"touch {tmp_path}/ran"})), Reply(slack_reply()), Reply(Text("Posted."))
    )

    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."
    # The hook of the settings was at work, on its own tool.
    assert not (tmp_path / "ran").exists()
    assert stage.posted == ["On its way."]


async def test_a_settings_file_of_a_source_is_looked_at_only_when_the_cli_would_read_it(
    open_stage: OpenStage, tmp_path: Path
) -> None:
    file = write(tmp_path / ".claude" / "settings.json", {"permissions": {"ask": [POST]}})
    changes: dict[str, Any] = {"cwd": str(tmp_path), "setting_sources": None}
    stage = await open_stage(options=changes)
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))

    error = error_of(await stage.turn("Post it.", approve=True))
    assert f"{file} has {POST!r} in permissions.ask" in error
    changes["setting_sources"] = []
    assert answer_of(await stage.turn("Now?", approve=True)) == "Posted."


def faults(stage: Stage, managed: Path, **options: Any) -> list[str]:
    try:
        check_options(ClaudeAgentOptions(**options), stage.flow().tools, WORKER, managed)
    except SegmentFailed as refusal:
        return str(refusal).split("\n")[1:]
    return []


ASK = {"permissions": {"ask": ["mcp__tools"]}}


def test_files_of_every_source_are_held_to_the_same_rules(bare_stage: Stage, tmp_path: Path) -> None:
    managed, root = tmp_path / "managed", tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    folder = root / "service"
    project = write(folder / ".claude" / "settings.json", ASK)
    local = write(root / ".claude" / "settings.local.json", ASK)
    write(root / ".claude" / "settings.json", ASK)
    first = write(managed / "managed-settings.json", ASK)
    second = write(managed / "managed-settings.d" / "10-more.json", ASK)

    def named(**options: Any) -> list[str]:
        return [
            line.removeprefix("- ").split(" has ")[0] for line in faults(bare_stage, managed, cwd=folder, **options)
        ]

    # An administrator's are read whatever is chosen; the local ones of a repository from every folder in it.
    always = [str(first), str(second)]
    assert named(setting_sources=[]) == always
    assert named(setting_sources=["user", "project"]) == [str(project), *always]
    assert named(setting_sources=["local"]) == [str(local), *always]
    assert named() == [str(project), str(local), *always]
    assert named(skills="all") == [str(project), *always]


def test_a_plugin_with_hooks_for_offered_tools_is_refused(bare_stage: Stage, tmp_path: Path) -> None:
    def plugin(name: str, manifest: dict[str, Any], hooks: dict[str, Any] | None = None) -> dict[str, Any]:
        write(tmp_path / name / ".claude-plugin" / "plugin.json", {"name": name, **manifest})
        if hooks is not None:
            write(tmp_path / name / "hooks" / "hooks.json", hooks)
        return {"plugins": [{"type": "local", "path": str(tmp_path / name)}]}

    write(tmp_path / "elsewhere" / "more.json", hook("PreToolUse"))
    (one,) = faults(bare_stage, tmp_path, **plugin("usual", {}, hook("PreToolUse")))
    (two,) = faults(bare_stage, tmp_path, **plugin("inline", hook("PermissionRequest")))
    (three,) = faults(bare_stage, tmp_path, **plugin("elsewhere", {"hooks": "./more.json"}))
    assert all("PreToolUse hook" in line or "PermissionRequest hook" in line for line in (one, two, three))
    assert "hooks.json has" in one
    assert faults(bare_stage, tmp_path, **plugin("harmless", {}, hook("PreToolUse", "Bash"))) == []
    (archive,) = faults(bare_stage, tmp_path, plugins=[{"type": "local", "path": str(tmp_path / "x.zip")}])
    assert "cannot be looked into" in archive


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"disableAllHooks": True}, "settings has 'disableAllHooks'"),
        ({"enabledPlugins": {"x@y": True}}, "settings has 'enabledPlugins'"),
        ({"agent": "reviewer"}, "settings has 'agent'"),
        ({"inventedLater": 1}, "settings has 'inventedLater', which this version of dexbridge does not know"),
        ({"permissions": {"inventedLater": 1}}, "settings has permissions.inventedLater"),
        ({"env": {"CLAUDE_CODE_SAFE_MODE": "1"}}, "CLAUDE_CODE_SAFE_MODE is set in settings"),
        (hook("PostToolBatch"), "settings has a PostToolBatch hook"),
        (hook("PreToolUse", "mcp__tools__slack_post_thread_reply|Bash"), "covers slack_post_thread_reply"),
        (hook("PreToolUse", "(?!Bash).*"), "settings has a PreToolUse hook"),
        (hook("PreToolUse", "("), "settings has a PreToolUse hook"),
        ("{", "settings is not a JSON object"),
        ("nowhere.json", "settings names the file 'nowhere.json', which is not there"),
    ],
)
def test_a_key_of_settings_is_named(bare_stage: Stage, tmp_path: Path, settings: Any, named: str) -> None:
    text = settings if isinstance(settings, str) else json.dumps(settings)
    (line,) = faults(bare_stage, tmp_path, settings=text)
    assert named in line
    if not isinstance(settings, str):
        (line,) = faults(bare_stage, tmp_path, settings=str(write(tmp_path / "given.json", settings)))
        assert named in line


@pytest.mark.parametrize(
    "settings",
    [
        {"disableAllHooks": False},
        {"enabledPlugins": {}},
        hook("PreToolUse", LOOK_UP.replace("tools", "other")),
        hook("Stop"),
    ],
)
def test_a_key_that_does_nothing_to_offered_tools_is_accepted(
    bare_stage: Stage, tmp_path: Path, settings: dict[str, Any]
) -> None:
    assert faults(bare_stage, tmp_path, settings=json.dumps(settings)) == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"user": "nobody"}, "user is set"),
        ({"output_format": {"type": "json_schema", "schema": {}}}, "output_format is set"),
        ({"disallowed_tools": [f"{POST}(x)"]}, "disallowed_tools has"),
        ({"env": {"CLAUDE_CODE_SAFE_MODE": "1"}}, "CLAUDE_CODE_SAFE_MODE is set in env"),
        ({"extra_args": {"safe-mode": None}}, "extra_args has 'safe-mode'"),
        ({"extra_args": {"inventedLater": None}}, "extra_args has 'inventedLater', which this version"),
        ({"extra_args": {"bare=": None}}, "extra_args has 'bare='"),
        ({"extra_args": {"disallowedTools": POST}}, "extra_args has 'disallowedTools'"),
        ({"hooks": {"PostToolBatch": [HookMatcher(hooks=[])]}}, "hooks has the event 'PostToolBatch'"),
        (
            {"agents": {"a": AgentDefinition("d", "p", mcpServers=[{"tools": {"command": "x"}}])}},
            "the agent 'a' has a server called 'tools'",
        ),
    ],
)
def test_another_option_that_cannot_be_is_named(
    bare_stage: Stage, tmp_path: Path, options: dict[str, Any], named: str
) -> None:
    (line,) = faults(bare_stage, tmp_path, **options)
    assert named in line
