"""Refuses options under which what is told, sent and recorded could differ, before the model or a person is asked."""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from claude_agent_sdk import ClaudeAgentOptions

from dexbridge.claude.locks.hook_matchers import covered_by_matcher
from dexbridge.claude.options.environment import blank_inherited
from dexbridge.claude.options.settings_sources import (
    ManagedFolder,
    SettingsSource,
    UnreadableSettings,
    managed_folder,
    sources,
)
from dexbridge.claude.options.table import FIELDS, FLAGS, PERMISSIONS, SETTINGS
from dexbridge.sessions import SegmentFailed
from dexbridge.toolsource import MCP_SERVER, OfferedTools, leaves_segment, mcp_name, short_name

__all__ = ["check_options"]

# One argument of a program may have 128 KiB on Linux, with the zero byte at its end (execve(2), MAX_ARG_STRLEN).
_LONGEST_ARGUMENT_BYTES = 128 * 1024 - 1
# "Ours" without a value of the application's own that would be of use.
_MUST_BE_UNSET = (
    "continue_conversation",
    "resume",
    "session_id",
    "fork_session",
    "resume_session_at",
    "resume_drops_turn",
    "session_store",
)
_SWITCHES_OFF = ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE")
_CLOSED_MODES = {
    "bypassPermissions": "which goes around the locks",
    "plan": "in which the CLI lets no tool run, not even one that was approved",
}
_LATE_EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "PermissionDenied",
)
_APPLICATION_EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "Notification",
    "SubagentStart",
    "PermissionRequest",
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


def check_options(
    options: ClaudeAgentOptions,
    tools: OfferedTools,
    environment: Mapping[str, str],
    managed: ManagedFolder | None = None,
) -> None:
    """Refuses options under which a call could run without leaving the CLI, and those that are ours to set.

    Source: `option_table`; seeds, "How a call runs".

    Args:
        options: The application's.
        tools: What the session offers.
        environment: The Worker's environment.
        managed: Where an administrator's settings are; the CLI's own place when left out.

    Raises:
        SegmentFailed: Permanent, and naming every entry that is wrong.
    """
    found = list(sources(options, managed or managed_folder()))
    settings = [source for source in found if isinstance(source, SettingsSource)]
    faults = [
        *_field_faults(options),
        *_list_faults(options, tools, settings),
        *_mode_faults(options, settings),
        *_server_faults(options),
        *_flag_faults(options),
        *(source.reason for source in found if isinstance(source, UnreadableSettings)),
        *(fault for source in settings for fault in _settings_faults(source, tools)),
        *_environment_faults(options, settings, environment),
        *_length_faults(options),
    ]
    if faults:
        listed = "\n".join(f"- {fault}" for fault in faults)
        raise SegmentFailed(f"The Claude options of this session cannot be used:\n{listed}", permanent=True)


def _field_faults(options: ClaudeAgentOptions) -> Iterator[str]:
    for field in dataclasses.fields(options):
        if not _is_set(options, field):
            continue
        treatment = FIELDS.get(field.name)
        if treatment is None:
            yield f"{field.name} is set: this version of dexbridge does not know it, leave it out"
        elif field.name in _MUST_BE_UNSET:
            yield f"{field.name} is set: sessions set it themselves, leave it out"
        elif treatment.kind == "refused":
            yield f"{field.name} is set: {treatment.why}"
    for event in options.hooks or {}:
        if event not in _APPLICATION_EVENTS:
            yield f"hooks has the event {event!r}, which this version of dexbridge does not know: remove it"


def _is_set(options: ClaudeAgentOptions, field: dataclasses.Field[Any]) -> bool:
    default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    return getattr(options, field.name) != default


def _list_faults(options: ClaudeAgentOptions, tools: OfferedTools, settings: Sequence[SettingsSource]) -> Iterator[str]:
    offered = [mcp_name(tool.name) for tool in tools]
    leaving = [mcp_name(tool.name) for tool in tools if leaves_segment(tool)]
    flag = next((value for name, value in options.extra_args.items() if _flag(name) == "allowed-tools"), None)
    allowing = [
        ("allowed_tools", options.allowed_tools),
        ("extra_args", [flag or ""]),
        *((source.where, source.part("permissions").get("allow")) for source in settings),
    ]
    for where, listed in allowing:
        for entry in _entries(listed):
            if covered := _covered(entry, leaving):
                yield f"{where} has {entry!r}, which covers {covered}: its calls must leave the CLI, remove the entry"
    for entry in _entries(options.disallowed_tools):
        if covered := _covered(entry, offered):
            yield f"disallowed_tools has {entry!r}, which hides the offered tool {covered}: remove one of them"
    for source in settings:
        for rule, does in (("ask", "asks for the offered tool {} after it was approved"), ("deny", "hides {}")):
            for entry in _entries(source.part("permissions").get(rule)):
                if covered := _covered(entry, offered):
                    yield f"{source.where} has {entry!r} in permissions.{rule}, which {does.format(covered)}: remove it"


def _entries(listed: object) -> Iterator[str]:
    """One entry may be several for the CLI."""
    for several in cast("list[object]", listed) if isinstance(listed, list) else []:
        yield from (one for one in _SEPARATOR.split(str(several)) if one)


def _covered(entry: str, offered: Sequence[str]) -> str | None:
    """The first offered tool an allow or deny entry covers: exact, the whole server, a pattern, or with parentheses."""
    pattern = entry.partition("(")[0].strip()
    if pattern == f"mcp__{MCP_SERVER}":
        pattern = mcp_name("*")
    found = next((name for name in offered if fnmatch.fnmatchcase(name, pattern)), None)
    return None if found is None else short_name(found)


def _mode_faults(options: ClaudeAgentOptions, settings: Sequence[SettingsSource]) -> Iterator[str]:
    modes: list[tuple[str, object]] = [("permission_mode", options.permission_mode)]
    modes.extend((source.where, source.part("permissions").get("defaultMode")) for source in settings)
    for where, mode in modes:
        if isinstance(mode, str) and mode in _CLOSED_MODES:
            yield f"{where} has {mode!r}, {_CLOSED_MODES[mode]}: choose another mode, such as 'default'"


def _server_faults(options: ClaudeAgentOptions) -> Iterator[str]:
    if not isinstance(options.mcp_servers, dict):
        yield "mcp_servers is a path: pass a dict, so that the server of the tools can be added"
        return
    named = [("mcp_servers", name) for name in options.mcp_servers]
    for agent, definition in (options.agents or {}).items():
        for server in definition.mcpServers or []:
            named.extend((f"the agent {agent!r}", name) for name in (server if isinstance(server, dict) else ()))
    for where, server in named:
        # The CLI writes other characters as "_", so that `tools__x` would share our tools' prefix.
        if short_name(f"mcp__{re.sub(r'[^a-zA-Z0-9_-]', '_', server)}__tool") is not None:
            yield f"{where} has a server called {server!r}, whose tools would take names of ours: rename it"


def _flag_faults(options: ClaudeAgentOptions) -> Iterator[str]:
    for written in options.extra_args:
        treatment = FLAGS.get(_flag(written))
        if treatment is None:
            yield f"extra_args has {written!r}, which this version of dexbridge does not know: remove it"
        elif treatment.kind == "refused":
            yield f"extra_args has {written!r}: {treatment.why}"


def _flag(written: str) -> str:
    """The flag's name in the table: no dashes in front, `allowedTools` as `allowed-tools`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", written.strip().lstrip("-")).lower()


def _settings_faults(source: SettingsSource, tools: OfferedTools) -> Iterator[str]:
    where = source.where
    for name, value in source.content.items():
        treatment = SETTINGS.get(name)
        if treatment is None:
            yield f"{where} has {name!r}, which this version of dexbridge does not know: remove it"
        elif treatment.kind == "refused" and value not in (None, False, "", [], {}):
            yield f"{where} has {name!r}: {treatment.why}"
    for name in source.part("permissions"):
        if name not in PERMISSIONS:
            yield f"{where} has permissions.{name}, which this version of dexbridge does not know: remove it"
    offered = [mcp_name(tool.name) for tool in tools]
    for event, matchers in source.part("hooks").items():
        if event not in _LATE_EVENTS:
            continue
        for one in cast("list[Any]", matchers) if isinstance(matchers, list) else [None]:
            matcher = cast("dict[str, Any]", one).get("matcher") if isinstance(one, dict) else None
            if covered := covered_by_matcher(matcher, offered):
                yield (
                    f"{where} has a {event} hook for {matcher or 'all tools'!r}, which covers {short_name(covered)} "
                    "and would act after a call was approved: narrow its matcher, or use `hooks` of the options"
                )


def _environment_faults(
    options: ClaudeAgentOptions, settings: Sequence[SettingsSource], environment: Mapping[str, str]
) -> Iterator[str]:
    places: list[tuple[str, Mapping[str, Any]]] = [
        ("env", options.env),
        ("the Worker's environment", environment),
        *((source.where, source.part("env")) for source in settings),
    ]
    for where, variables in places:
        for name in _SWITCHES_OFF:
            if str(variables.get(name, "")).strip().lower() not in ("", "0", "false", "no", "off"):
                yield f"{name} is set in {where}: it switches hooks off, unset it"
    effective = blank_inherited(options.env, environment)
    if not any(effective.get(name, "").strip() for name in _CREDENTIALS):
        yield "the CLI has no credential: set ANTHROPIC_API_KEY in the Worker's environment"


def _length_faults(options: ClaudeAgentOptions) -> Iterator[str]:
    """What is handed over as one argument of the program, and is too long for one."""
    servers = cast("dict[str, Any]", options.mcp_servers) if isinstance(options.mcp_servers, dict) else {}
    told = {name: {k: v for k, v in server.items() if k != "instance"} for name, server in servers.items()}
    given: dict[str, str] = {
        "tools": ",".join(options.tools) if isinstance(options.tools, list) else "",
        "allowed_tools": ",".join(options.allowed_tools),
        "disallowed_tools": ",".join(options.disallowed_tools),
        "mcp_servers": json.dumps(told, default=str),
        "settings": f"{options.settings or ''}{json.dumps(options.sandbox or '')}",
        **{f"extra_args[{name!r}]": str(value or "") for name, value in options.extra_args.items()},
    }
    for name, text in given.items():
        # 1 KiB for what the SDK writes around it.
        if (size := len(text.encode(errors="replace"))) > _LONGEST_ARGUMENT_BYTES - 1024:
            yield (
                f"{name} has {size:,} bytes, and {_LONGEST_ARGUMENT_BYTES:,} is the most a program takes in one "
                "argument: shorten it, or pass the path of a file where the option takes one"
            )
