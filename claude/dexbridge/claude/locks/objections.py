"""What the application itself has against a call of an offered tool: its PreToolUse hooks and its `can_use_tool`.

Only a deny counts. A rewrite would change what a person approves, an "ask" or "defer" would hide a call from the
session, and an "allow" is not an approval.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookContext,
    HookInput,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from dexbridge.claude.locks.hook_matchers import covered_by_matcher

__all__ = ["Objections", "longest_objection_seconds"]

logger = logging.getLogger(__name__)

_LONGEST_REASON = 2_000
_SECONDS = 30.0


def longest_objection_seconds(options: ClaudeAgentOptions) -> float:
    """How long `Objections.to` may take: 30 s for each that is asked."""
    return _SECONDS * (1 + sum(len(matcher.hooks) for matcher in (options.hooks or {}).get("PreToolUse", [])))


class Objections:
    """Asks the application, with a copy of the call each time.

    Args:
        options: The application's. A tool that its `allowed_tools` names is not brought before its `can_use_tool`, as
            in the SDK.
        said: What was said to be ignored; grows, so that it is said once.
    """

    def __init__(self, options: ClaudeAgentOptions, said: set[str]) -> None:
        self._matchers: Sequence[HookMatcher] = (options.hooks or {}).get("PreToolUse", [])
        self._can_use_tool = options.can_use_tool
        self._allowed = frozenset(options.allowed_tools)
        self._said = said

    async def to(self, call: Mapping[str, Any], tool_use_id: str, context: HookContext) -> str | None:
        """Why the application denies the call; `None` when it does not.

        One that raises, takes more than 30 s or answers with something else denies it too.

        Args:
            call: What the CLI told the hook.
            tool_use_id: The call's.
            context: The hook's.
        """
        tool = str(call.get("tool_name", ""))
        for matcher in self._matchers:
            if covered_by_matcher(matcher.matcher, [tool]) is None:
                continue
            for hook in matcher.hooks:
                name = _name_of(hook)
                told = cast("HookInput", copy.deepcopy(dict(call)))
                asked = functools.partial(hook, told, tool_use_id, context)
                answer = await self._asked(f"The PreToolUse hook {name}", tool, asked)
                if isinstance(answer, _Failed) or (answer is None and matcher.on_failure == "block"):
                    return f"A hook of the application failed for {tool}."
                if denied := self._denied(answer, name, tool, call.get("tool_input")):
                    return denied
        return await self._permission(call, tool, tool_use_id)

    async def _permission(self, call: Mapping[str, Any], tool: str, tool_use_id: str) -> str | None:
        if self._can_use_tool is None or tool in self._allowed:
            return None
        given = copy.deepcopy(cast("dict[str, Any]", call.get("tool_input") or {}))
        context = ToolPermissionContext(tool_use_id=tool_use_id, agent_id=call.get("agent_id"))
        answer = await self._asked("can_use_tool", tool, functools.partial(self._can_use_tool, tool, given, context))
        match answer:
            case PermissionResultDeny():
                return _reason(answer.message, f"The application does not allow {tool}.")
            case PermissionResultAllow():
                if answer.updated_input not in (None, call.get("tool_input")):
                    self._say_ignored("can_use_tool", "a rewrite", tool)
                return None
            case _:
                return f"can_use_tool of the application failed for {tool}."

    def _denied(self, answer: object, name: str, tool: str, given: object) -> str | None:
        output = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        specific = cast("dict[str, Any]", output.get("hookSpecificOutput") or {})
        decision = specific.get("permissionDecision")
        if decision == "deny" or output.get("decision") == "block":
            reason = specific.get("permissionDecisionReason") or output.get("reason")
            return _reason(reason, f"A hook of the application denied {tool}.")
        if output.get("continue_", output.get("continue", True)) is False:
            return _reason(output.get("stopReason"), f"A hook of the application stopped {tool}.")
        if decision is not None:
            self._say_ignored(name, f"its {str(decision)[:20]!r}", tool)
        if specific.get("updatedInput") not in (None, given):
            self._say_ignored(name, "a rewrite", tool)
        return None

    async def _asked(self, who: str, tool: str, ask: Callable[[], Awaitable[object]]) -> object:
        try:
            async with asyncio.timeout(_SECONDS):
                return await ask()
        except Exception as error:  # noqa: BLE001 - the application's own function; what it wanted is not known
            logger.warning(
                "%s of the application raised %s for %s: the call is denied.", who, type(error).__name__, tool
            )
            return _Failed()

    def _say_ignored(self, who: str, what: str, tool: str) -> None:
        said = f"{who} {what} {tool}"
        if said not in self._said:
            self._said.add(said)
            logger.warning("Of %s for %s, %s is ignored: for an offered tool only a deny counts.", who, tool, what)


class _Failed:
    """In place of an answer."""


def _name_of(hook: object) -> str:
    return str(getattr(hook, "__qualname__", type(hook).__qualname__))


def _reason(given: object, otherwise: str) -> str:
    text = str(given or "").strip()
    return text[:_LONGEST_REASON] or otherwise
