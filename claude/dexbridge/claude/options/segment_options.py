"""The options of a segment: what the application chose, what we need, and what must not be combined."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import ClaudeAgentOptions, HookContext, HookInput, HookJSONOutput, HookMatcher

from dexbridge.claude.conversation.transcript import SegmentTranscript
from dexbridge.claude.locks.handler import HandlerLock
from dexbridge.claude.locks.hook import HookLock
from dexbridge.claude.locks.objections import longest_objection_seconds
from dexbridge.claude.options.environment import blank_inherited
from dexbridge.claude.options.settings_sources import option_settings
from dexbridge.claude.options.system_prompt import prompt_files
from dexbridge.toolsource import MCP_SERVER, short_name

__all__ = ["BuildOptions", "ClaudeAgentOptionsContext", "segment_options", "tool_seconds"]

logger = logging.getLogger(__name__)

_HOOK_SECONDS = 60.0
# A line of the CLI holds a whole result of a tool, a picture too; the SDK's own bound is 1 MiB.
_LINE_BYTES = 16 * 1024 * 1024


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
    found = option_settings(options).get("env")
    return (
        {name: str(value) for name, value in cast("dict[str, Any]", found).items()} if isinstance(found, dict) else {}
    )


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
    guarded = [_not_for_offered(matcher) for matcher in user_hooks.pop("PreToolUse", [])]
    for event in ("PostToolUse", "PostToolUseFailure"):
        if event in user_hooks:
            user_hooks[event] = [_only_told(matcher, handler_lock) for matcher in user_hooks[event]]
    # on_failure="block": by default a hook that fails lets an allowed tool run.
    seconds = _HOOK_SECONDS + longest_objection_seconds(options)
    lock = HookMatcher(hooks=[hook_lock], timeout=seconds, on_failure="block")
    servers = cast("dict[str, Any]", options.mcp_servers)
    system_prompt, prompt_flags = prompt_files(options.system_prompt, configuration.parent)
    return replace(
        options,
        system_prompt=system_prompt,
        extra_args={**options.extra_args, **prompt_flags},
        max_buffer_size=max(options.max_buffer_size or 0, _LINE_BYTES),
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


def _not_for_offered(matcher: HookMatcher) -> HookMatcher:
    """A user's hook, not called by the CLI for offered tools: `Objections` asks it, and not on a replay."""

    def guard(hook: Any) -> Any:
        async def unless_offered(
            hook_input: HookInput, tool_use_id: str | None, context: HookContext
        ) -> HookJSONOutput:
            if short_name(str(cast("dict[str, Any]", hook_input).get("tool_name", ""))) is not None:
                return {}
            return await hook(hook_input, tool_use_id, context)

        return unless_offered

    return replace(matcher, hooks=[guard(hook) for hook in matcher.hooks])


def _only_told(matcher: HookMatcher, handler_lock: HandlerLock) -> HookMatcher:
    """A user's hook that hears of a call that left, and cannot change what the model is told of it."""

    def told(hook: Any) -> Any:
        async def unless_recorded(
            hook_input: HookInput, tool_use_id: str | None, context: HookContext
        ) -> HookJSONOutput:
            recorded = handler_lock.recorded
            if recorded is None or recorded.tool_use_id != tool_use_id:
                return await hook(hook_input, tool_use_id, context)
            name = str(getattr(hook, "__qualname__", type(hook).__qualname__))
            try:
                answer = await hook(copy.deepcopy(hook_input), tool_use_id, context)
            except Exception as error:  # noqa: BLE001 - the application's own function; the call is made and recorded
                logger.warning("The hook %s of the application raised %s.", name, type(error).__name__)
            else:
                if answer:
                    logger.info("What the hook %s returned for a call that left is ignored.", name)
            return {}

        return unless_recorded

    return replace(matcher, hooks=[told(hook) for hook in matcher.hooks])
