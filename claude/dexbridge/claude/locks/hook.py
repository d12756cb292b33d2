"""The first lock: a hook that decides, before any tool runs, whether its call may run inside the CLI.

Source: design "What works": the first call that must leave is deferred, which ends the run; a later one of the same
reply is denied with a text that tells the model to ask again, since the CLI would lose it without a trace.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

from claude_agent_sdk import HookContext, HookInput, HookJSONOutput

from dexbridge.claude.locks.inside_writes import InlineWrites, only_reads
from dexbridge.claude.locks.objections import Objections
from dexbridge.sessions import CallResult, InsideCall
from dexbridge.toolsource import AgentTool, InvalidArguments, OfferedTools, leaves_segment, short_name

__all__ = ["HookLock", "LeavingCall", "Park", "must_leave"]

logger = logging.getLogger(__name__)

_UNRECORDED = "{} was not run: its beginning could not be recorded. End your reply here."


def must_leave(tool: AgentTool, arguments: dict[str, Any]) -> bool:
    """Whether this call runs in a Step of its own: a Connector call, a write, or a read a person must approve."""
    return leaves_segment(tool) or tool.asks(arguments)


@dataclass(frozen=True, slots=True)
class LeavingCall:
    """The first call of a reply that must leave.

    Attributes:
        arguments: As the model gave them.
        permission_mode: The CLI's.
        asks: Whether a person must approve it.
    """

    tool_use_id: str
    tool: str
    arguments: dict[str, Any]
    permission_mode: str
    asks: bool


Park = Callable[[LeavingCall], Awaitable[bool]]

Began = Callable[[InsideCall], Awaitable[None]]

Overtaken = Callable[[str, str], Awaitable[bool]]


class HookLock:
    """The PreToolUse hook of one segment.

    Args:
        tools: What the session offers.
        replay: The recorded result this segment hands over; the CLI's replay of that call is allowed through to the
            handler, which returns it.
        park: Asked whether the process may wait with the call instead of ending; `None`: it may not.
        began: Awaited before a call runs inside the CLI; one whose beginning cannot be recorded does not run.
        objections: The application's, asked before an offered tool's call leaves or runs.
        inline_writes: With `refuse`, no tool but the offered ones and those that only read runs inside the CLI.
        overtaken: Asked with the call that was to leave and a later one whether the CLI gave up the first, as it does
            when the API stops its reply as a refusal, and had the model reply anew.
    """

    def __init__(
        self,
        tools: OfferedTools,
        replay: CallResult | None,
        park: Park | None,
        *,
        began: Began,
        objections: Objections,
        inline_writes: InlineWrites,
        overtaken: Overtaken | None = None,
    ) -> None:
        self._overtaken = overtaken
        self._began = began
        self._objections = objections
        self._inline_writes = inline_writes
        self._tools = tools
        self._replay = replay
        self._leaving: str | None = None
        self._held = False
        self._park = park

    @property
    def leaving(self) -> str | None:
        """Tool-use ID of the call that was deferred, if any."""
        return self._leaving

    def hold(self, held: bool) -> None:
        """While held, no call leaves: the user has said something new, which the model must read first."""
        self._held = held

    def record_with(self, began: Began) -> None:
        """A process goes on in another Step, whose events these are."""
        self._began = began

    def renew(self) -> None:
        """The call that left has its result: the next one may leave."""
        self._leaving = None
        self._replay = None

    def forget(self, tool_use_id: str) -> None:
        """The CLI went on in spite of the deferral: the next call may leave."""
        if self._leaving == tool_use_id:
            self._leaving = None

    async def __call__(self, hook_input: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        """Decides about one call. Nothing is awaited before a call is the first, so two cannot both be."""
        call = cast("dict[str, Any]", hook_input)
        name = short_name(str(call.get("tool_name", "")))
        if name is None:
            return await self._not_offered(call, tool_use_id)
        identity = str(call.get("tool_use_id") or tool_use_id or "")
        if self._replay is not None and identity == self._replay.tool_use_id:
            return _decide("allow", "the recorded result is handed over")
        tool = self._tools.find(name)
        if tool is None:
            return _decide("deny", f"There is no tool {name}.")
        try:
            arguments = tool.validate(arguments_of(call))
        except InvalidArguments as error:
            return _decide("deny", str(error))
        asks = tool.asks(arguments)
        if not (leaves_segment(tool) or asks):
            if (reason := await self._objections.to(call, identity, context)) is not None:
                return _decide("deny", reason)
            if not await self._recorded(call, name, identity):
                return _decide("deny", _UNRECORDED.format(name))
            return _decide("allow", "a read runs inside the turn")
        if call.get("agent_id"):
            return _decide("deny", f"{name} cannot be called by a subagent: call this tool from the main conversation.")
        if self._held:
            return _decide(
                "deny",
                f"{name} was not called: the user has written a new message. End your reply here, it comes next.",
            )
        if self._leaving not in (None, identity) and not await self._takes_over(self._leaving, identity):
            return _decide(
                "deny",
                f"{name} was not called: only one such call of a reply can be made at a time, and another one came "
                f"first. Wait for its result, then ask for {name} again if it is still wanted.",
            )
        self._leaving = identity
        if (reason := await self._objections.to(call, identity, context)) is not None:
            self.forget(identity)
            logger.info("The application denies the call %s of %s; it is not made.", identity, name)
            return _decide("deny", reason)
        logger.debug("The call %s of %s leaves the CLI.", identity, name)
        leaving = LeavingCall(identity, name, arguments_of(call), str(call.get("permission_mode", "default")), asks)
        if self._park is not None and await self._park(leaving):
            return _decide("allow", "the process waits in the handler for the recorded result")
        return _decide("defer", "the call runs in a Step of its own")

    async def _takes_over(self, leaving: str, identity: str) -> bool:
        """Whether this call is the first to leave after all: the one before it will never be made."""
        overtaken = self._overtaken is not None and await self._overtaken(leaving, identity)
        # While it was awaited, another call of the same reply may have become the first.
        return overtaken and self._leaving == leaving

    async def _not_offered(self, call: dict[str, Any], tool_use_id: str | None) -> HookJSONOutput:
        """A tool of the CLI, or of another server: whether it runs is for the CLI's own rules to say."""
        tool = str(call.get("tool_name", ""))
        if self._inline_writes == "refuse" and not only_reads(tool):
            return _decide("deny", f"{tool} may write, and nothing may write inside this conversation.")
        if not await self._recorded(call, tool, str(call.get("tool_use_id") or tool_use_id or "")):
            return _decide("deny", _UNRECORDED.format(tool))
        return {}

    async def _recorded(self, call: dict[str, Any], tool: str, tool_use_id: str) -> bool:
        began = InsideCall(tool, tool_use_id, arguments_of(call), by_subagent=bool(call.get("agent_id")))
        try:
            await self._began(began)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody would know of the call
            logger.warning("A call of %s does not run: its event was not committed (%s).", tool, type(error).__name__)
            return False
        return True


def arguments_of(call: dict[str, Any]) -> dict[str, Any]:
    """The arguments a hook was told of."""
    return cast("dict[str, Any]", call.get("tool_input") or {})


def _decide(decision: Literal["allow", "deny", "defer"], reason: str) -> HookJSONOutput:
    # Without hookEventName the CLI ignores the decision.
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }
