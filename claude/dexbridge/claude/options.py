"""The options of a segment: what the application chose, what we need, and what must not be combined."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import ClaudeAgentOptions, HookContext, HookInput, HookJSONOutput, HookMatcher

from dexbridge.claude.environment import blank_inherited
from dexbridge.claude.handler_lock import HandlerLock
from dexbridge.claude.hook_lock import HookLock
from dexbridge.claude.transcript import SegmentTranscript
from dexbridge.sessions import SegmentFailed
from dexbridge.toolsource import MCP_SERVER, OfferedTools, leaves_segment, mcp_name, short_name

__all__ = ["BuildOptions", "ClaudeAgentOptionsContext", "check_options", "segment_options", "tool_seconds"]

_HOOK_SECONDS = 30.0
_OURS = (
    "resume",
    "continue_conversation",
    "session_id",
    "fork_session",
    "resume_session_at",
    "resume_drops_turn",
    "session_store",
    "permission_prompt_tool_name",
)
_FORBIDDEN_FLAGS = (
    "bare",
    "dangerously-skip-permissions",
    "allow-dangerously-skip-permissions",
    "permission-mode",
    "permission-prompt-tool",
    "resume",
    "continue",
    "session-id",
    "fork-session",
    "no-session-persistence",
    "mcp-config",
    "settings",
)
# Not within parentheses, as in `Bash(git log, git show)`.
_SEPARATOR = re.compile(r"[,\s]+(?![^(]*\))")
_CREDENTIALS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
)


@dataclass(frozen=True, slots=True)
class ClaudeAgentOptionsContext:
    """What the application's options factory may read.

    Attributes:
        session_id: The session a segment is run for.
        flow_type: Its type.
    """

    session_id: str
    flow_type: str


BuildOptions = Callable[[ClaudeAgentOptionsContext], ClaudeAgentOptions]
"""Called for every segment; returns the options the application wants."""


def check_options(options: ClaudeAgentOptions, tools: OfferedTools, environment: Mapping[str, str]) -> None:
    """Refuses options under which a call could run without leaving the CLI, and those that are ours to set.

    Source: seeds, "How a call runs"; design "What works" and "Environment of the CLI".

    Args:
        options: The application's.
        tools: What the session offers.
        environment: The Worker's environment.

    Raises:
        SegmentFailed: Permanent, and naming every entry that is wrong.
    """
    faults = [*_option_faults(options, tools), *_environment_faults(options, environment)]
    if faults:
        listed = "\n".join(f"- {fault}" for fault in faults)
        raise SegmentFailed(f"The Claude options of this session cannot be used:\n{listed}", permanent=True)


def _option_faults(options: ClaudeAgentOptions, tools: OfferedTools) -> Iterator[str]:
    yield from _list_faults(options, tools)
    modes = {"permission_mode": options.permission_mode, "settings": _permissions(options).get("defaultMode")}
    for where, mode in modes.items():
        if mode == "bypassPermissions":
            yield f"{where} has 'bypassPermissions': choose another mode, such as 'default'"
    if not isinstance(options.mcp_servers, dict):
        yield "mcp_servers is a path: pass a dict, so that the server of the tools can be added"
    else:
        for server in options.mcp_servers:
            # The CLI writes other characters as "_", so that `tools__x` would share our tools' prefix.
            if short_name(f"mcp__{re.sub(r'[^a-zA-Z0-9_-]', '_', server)}__tool") is not None:
                yield f"mcp_servers has a server called {server!r}, whose tools would take names of ours: rename it"
    for name in _OURS:
        if getattr(options, name):
            yield f"{name} is set: sessions set it themselves, leave it out"
    for flag in options.extra_args:
        if flag.lstrip("-") in _FORBIDDEN_FLAGS:
            yield f"extra_args has {flag!r}, which would go around the locks or the session's own flags: remove it"


def _list_faults(options: ClaudeAgentOptions, tools: OfferedTools) -> Iterator[str]:
    leaving = [mcp_name(tool.name) for tool in tools if leaves_segment(tool)]
    flags = {flag.lstrip("-").replace("-", "").lower(): value for flag, value in options.extra_args.items()}
    places = {
        "allowed_tools": options.allowed_tools,
        "extra_args": [flags.get("allowedtools") or ""],
        "settings": _permissions(options).get("allow"),
    }
    for where, listed in places.items():
        # One entry may be several for the CLI.
        entries = cast("list[Any]", listed) if isinstance(listed, list) else []
        for entry in (one for several in entries for one in _SEPARATOR.split(str(several)) if one):
            if covered := _covered(entry, leaving):
                yield f"{where} has {entry!r}, which covers {covered}: its calls must leave the CLI, remove the entry"
    for entry in options.disallowed_tools:
        if "(" not in entry and (covered := _covered(entry, [mcp_name(tool.name) for tool in tools])):
            yield f"disallowed_tools has {entry!r}, which hides the offered tool {covered}: remove one of them"


def _environment_faults(options: ClaudeAgentOptions, environment: Mapping[str, str]) -> Iterator[str]:
    places = (("env", options.env), ("the Worker's environment", environment), ("settings", _settings_env(options)))
    for where, variables in places:
        if variables.get("CLAUDE_CODE_SIMPLE", "").strip().lower() not in ("", "0", "false", "no", "off"):
            yield f"CLAUDE_CODE_SIMPLE is set in {where}: it switches hooks off, unset it"
    effective = blank_inherited(options.env, environment)
    if not any(effective.get(name, "").strip() for name in _CREDENTIALS):
        yield "the CLI has no credential: set ANTHROPIC_API_KEY in the Worker's environment"


def tool_seconds(options: ClaudeAgentOptions) -> float | None:
    """Seconds after which the CLI gives up on a tool of a server, when the application has changed them."""
    chosen = [
        variables["MCP_TOOL_TIMEOUT"]
        for variables in (options.env, _settings_env(options))
        if variables.get("MCP_TOOL_TIMEOUT", "").strip()
    ]
    try:
        return min((float(milliseconds) / 1000 for milliseconds in chosen), default=None)
    except ValueError:
        return 0.0


def _settings_env(options: ClaudeAgentOptions) -> Mapping[str, str]:
    """The `env` of `settings`, which the CLI takes into its environment."""
    return {name: str(value) for name, value in _settings(options, "env").items()}


def _permissions(options: ClaudeAgentOptions) -> Mapping[str, Any]:
    return _settings(options, "permissions")


def _settings(options: ClaudeAgentOptions, name: str) -> Mapping[str, Any]:
    """That object of `settings`, which are JSON or a path; empty when there is none."""
    text = (options.settings or "").strip()
    try:
        settings: Any = json.loads(text if text.startswith("{") else Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    found = cast("dict[str, Any]", settings).get(name) if isinstance(settings, dict) else None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _covered(entry: str, offered: Sequence[str]) -> str | None:
    """The first offered tool an allow or deny entry covers: exact, the whole server, a pattern, or with parentheses."""
    pattern = entry.partition("(")[0].strip()
    if pattern == f"mcp__{MCP_SERVER}":
        pattern = mcp_name("*")
    found = next((name for name in offered if fnmatch.fnmatchcase(name, pattern)), None)
    return None if found is None else short_name(found)


def segment_options(
    options: ClaudeAgentOptions,
    *,
    hook_lock: HookLock,
    handler_lock: HandlerLock,
    transcript: SegmentTranscript,
    configuration: Path,
    environment: Mapping[str, str],
    cli: str | None,
    cwd: str,
    on_stderr: Callable[[str], None],
) -> ClaudeAgentOptions:
    """Returns the application's options with the locks, the transcript and the CLI's environment in place."""
    user_hooks = dict(options.hooks or {})
    guarded = [_guarded(matcher) for matcher in user_hooks.pop("PreToolUse", [])]
    # on_failure="block": by default a hook that fails lets an allowed tool run.
    lock = HookMatcher(hooks=[hook_lock], timeout=_HOOK_SECONDS, on_failure="block")
    servers = cast("dict[str, Any]", options.mcp_servers)
    return replace(
        options,
        hooks={**user_hooks, "PreToolUse": [lock, *guarded]},
        mcp_servers={**servers, MCP_SERVER: handler_lock.server()},
        strict_mcp_config=True,
        session_store=transcript,
        # A call that parks needs its entries while the CLI still runs.
        session_store_flush="eager",
        include_partial_messages=True,
        # A message of an end user must not read files (@path) or run commands of the CLI (/clear).
        verbatim_prompts=True,
        cli_path=cli,
        cwd=cwd,
        stderr=options.stderr or on_stderr,
        env={
            **blank_inherited(options.env, environment),
            "CLAUDE_CONFIG_DIR": str(configuration),
            # Where it leaves files behind; they go with the segment's folder.
            "CLAUDE_CODE_TMPDIR": str(configuration.parent),
            "XDG_CACHE_HOME": options.env.get("XDG_CACHE_HOME") or str(configuration.parent / "cache"),
            # A segment ends with its process: a subagent in the background would be lost with it, and its end would
            # make the CLI go on after a deferral.
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
            "CLAUDE_CODE_MAX_RETRIES": options.env.get("CLAUDE_CODE_MAX_RETRIES", "2"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": options.env.get(
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"
            ),
        },
    )


def _guarded(matcher: HookMatcher) -> HookMatcher:
    """A user's hook, not called for offered tools: it could rewrite what was approved, or hide a recorded result."""

    def guard(hook: Any) -> Any:
        async def unless_offered(
            hook_input: HookInput, tool_use_id: str | None, context: HookContext
        ) -> HookJSONOutput:
            if short_name(str(cast("dict[str, Any]", hook_input).get("tool_name", ""))) is not None:
                return {}
            return await hook(hook_input, tool_use_id, context)

        return unless_offered

    return replace(matcher, hooks=[guard(hook) for hook in matcher.hooks])
