"""One run of the CLI: from a message or a recorded result to an answer or a call that must leave."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolUseBlock,
)

from dexbridge.claude.failures import check_init, check_result, check_retry
from dexbridge.claude.handler_lock import HandlerLock
from dexbridge.claude.hook_lock import HookLock
from dexbridge.claude.results import well_formed
from dexbridge.claude.versions import warn_if_untested
from dexbridge.sessions import SegmentFailed, ToolWish
from dexbridge.toolsource import mcp_name, short_name

__all__ = ["Segment", "SegmentResult"]

logger = logging.getLogger(__name__)

_HAND_OVER_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """How the run ended.

    Attributes:
        wish: The call that must leave; `None` when the model answered.
        text: The answer, or what was said before the call.
    """

    wish: ToolWish | None
    text: str


@dataclass(frozen=True, slots=True)
class _Heard:
    """A block of a reply of the model, with the reply's ID."""

    reply: str | None
    block: TextBlock | ToolUseBlock


@dataclass(slots=True)
class Segment:
    """The state of one run of the CLI.

    Args:
        options: Complete options.
        hook_lock: The hook in them.
        handler_lock: The MCP server in them.
        offered: Tools the CLI must report as connected.
        prompts: New user messages, given as one.
        hands_over: Whether the run begins with the hand-over of a recorded result.
        say: Takes text as it is written.
        kill: Ends the CLI at once.
    """

    options: ClaudeAgentOptions
    hook_lock: HookLock
    handler_lock: HandlerLock
    offered: Sequence[str]
    prompts: Sequence[str]
    hands_over: bool
    say: Callable[[str], None]
    kill: Callable[[], None]
    _heard: list[_Heard] = field(default_factory=list[_Heard])

    async def run(self) -> SegmentResult:
        """Runs the CLI to the end of the segment. Raises `SegmentFailed`, or what the SDK raises."""
        client = ClaudeSDKClient(self.options)
        try:
            result = await self._converse(client)
        except BaseException:
            self.kill()
            await _end(client)
            raise
        # After a deferral the process is spent: anything sent to it would be answered with an error.
        await _end(client)
        return result

    async def _converse(self, client: ClaudeSDKClient) -> SegmentResult:
        prompt = "\n\n".join(self.prompts)
        await client.connect()
        if self.hands_over:
            # No prompt: the CLI replays the pending call by itself, and an empty prompt would add a turn.
            self.hook_lock.hold(bool(prompt))
            result = await self._until_result(client, handing_over=True)
            if not prompt:
                return result
            self.hook_lock.hold(False)
        await client.query(prompt)
        return await self._until_result(client, handing_over=False)

    async def _until_result(self, client: ClaudeSDKClient, *, handing_over: bool) -> SegmentResult:
        self._heard.clear()
        async with aclosing(_messages(client)) as messages:
            while True:
                try:
                    # A resume with nothing pending would wait for ever.
                    bound = _HAND_OVER_SECONDS if handing_over and not self.handler_lock.handed_out else None
                    async with asyncio.timeout(bound):
                        message = await anext(messages)
                except TimeoutError:
                    raise SegmentFailed("The CLI did not ask for the result of the pending call.") from None
                except StopAsyncIteration:
                    raise SegmentFailed("The CLI ended without a result.") from None
                if isinstance(message, ResultMessage):
                    return self._end(message, handing_over=handing_over)
                self._hear(message)

    def _hear(self, message: Message) -> None:
        match message:
            case SystemMessage(subtype="init", data=data):
                check_init(data, [mcp_name(name) for name in self.offered])
                warn_if_untested(data)
            case SystemMessage(subtype="api_retry", data=data):
                check_retry(data)
            case StreamEvent(parent_tool_use_id=None, event=event):
                if self.hook_lock.leaving is None and (text := _delta(event)):
                    self.say(text)
            case AssistantMessage(parent_tool_use_id=None, error=None, content=content, message_id=reply):
                self._heard.extend(
                    _Heard(reply, block) for block in content if isinstance(block, TextBlock | ToolUseBlock)
                )
            case _:
                pass

    def _said_before(self, tool_use_id: str) -> str:
        """What was said before a call. Text after it was written without its result, and is dropped.

        Cut at the end of the run: a block may be heard before or after the hook has decided about its call.
        """
        texts: list[str] = []
        for heard in self._heard:
            if isinstance(heard.block, TextBlock):
                texts.append(heard.block.text)
            elif heard.block.id == tool_use_id:
                break
        return _joined(texts)

    def _answer(self, message: ResultMessage) -> str:
        """The whole last reply; the CLI's own result is only its last text block."""
        last = self._heard[-1].reply if self._heard else None
        texts = [
            heard.block.text for heard in self._heard if heard.reply == last and isinstance(heard.block, TextBlock)
        ]
        return well_formed(_joined(texts) or message.result or "")

    def _end(self, message: ResultMessage, *, handing_over: bool) -> SegmentResult:
        check_result(message, str(self.options.model or "the default model"))
        if handing_over and not self.handler_lock.handed_out:
            raise SegmentFailed("The CLI went on without the recorded result of the pending call.")
        deferred = message.deferred_tool_use
        if deferred is None:
            return SegmentResult(None, self._answer(message))
        name = short_name(deferred.name)
        if name is None:
            raise SegmentFailed(f"The CLI deferred {deferred.name!r}, which is not a tool of this session.")
        wish = ToolWish(tool_use_id=deferred.id, tool=name, arguments=deferred.input)
        return SegmentResult(wish, well_formed(self._said_before(deferred.id)))


async def _end(client: ClaudeSDKClient) -> None:
    """Ends the CLI, however often the task is cancelled meanwhile: the SDK would leave the process behind."""
    ending = asyncio.ensure_future(client.disconnect())
    cancelled = False
    while not ending.done():
        try:
            await asyncio.wait([ending])
        except asyncio.CancelledError:
            cancelled = True
    if (error := ending.exception()) is not None:
        # What the segment came to is not changed by it.
        logger.warning("Ending the CLI raised %s.", type(error).__name__)
    if cancelled:
        raise asyncio.CancelledError


async def _messages(client: ClaudeSDKClient) -> AsyncGenerator[Message]:
    async for message in client.receive_messages():
        yield message


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())


def _delta(event: dict[str, Any]) -> str:
    if event.get("type") != "content_block_delta":
        return ""
    delta: dict[str, Any] = event.get("delta") or {}
    return str(delta.get("text", "")) if delta.get("type") == "text_delta" else ""
