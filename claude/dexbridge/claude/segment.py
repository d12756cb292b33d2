"""One run of the CLI: from a message or a recorded result to an answer or a call that must leave."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager
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
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from dexbridge.claude.conversation.heard import Heard, Said
from dexbridge.claude.conversation.made_entries import COMPARED_CLI_VERSIONS, deferral_entry, holds_call
from dexbridge.claude.conversation.replies import StreamedReplies
from dexbridge.claude.conversation.results import is_told
from dexbridge.claude.conversation.transcript import SegmentTranscript
from dexbridge.claude.failures import (
    check_asked,
    check_init,
    check_result,
    check_retry,
    check_submitted,
    not_the_messages,
)
from dexbridge.claude.locks.handler import HandlerLock
from dexbridge.claude.locks.hook import HookLock, LeavingCall
from dexbridge.claude.versions import warn_if_untested
from dexbridge.sessions import CallResult, Refused, SegmentFailed, ToolWish
from dexbridge.toolsource import mcp_name, short_name

__all__ = ["Segment", "SegmentResult"]

logger = logging.getLogger(__name__)

_START_AND_TAKE_SECONDS = 120.0
_TAKE_SECONDS = 15.0
_WHOLE_REPLY_SECONDS = 20.0
_MIRROR_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """How the run ended.

    Attributes:
        wish: The call that must leave; `None` when the model answered.
        said: The answer, or what was said before the call.
    """

    wish: ToolWish | None
    said: Said


@dataclass(slots=True)
class Segment:
    """One process of the CLI: a run, and when it parks, the run after that.

    Args:
        options: Complete options.
        hook_lock: The hook in them.
        handler_lock: The MCP server in them.
        transcript: The session store in them.
        offered: Tools the CLI must report as connected.
        say: Takes text as it is written.
        kill: Ends the CLI at once.
        known: IDs of replies and tool uses of the conversation so far.
    """

    options: ClaudeAgentOptions
    hook_lock: HookLock
    handler_lock: HandlerLock
    transcript: SegmentTranscript
    offered: Sequence[str]
    say: Callable[[str], None]
    kill: Callable[[], None]
    known: frozenset[str] = frozenset()
    _replies: StreamedReplies = field(default_factory=StreamedReplies)
    _ids: set[str] = field(default_factory=set[str])
    _heard: Heard = field(default_factory=Heard)
    _client: ClaudeSDKClient | None = None
    _messages: AsyncGenerator[Message] | None = None
    _next: asyncio.Task[Message] | None = None
    _told: bool = False
    _parked: asyncio.Future[SegmentResult] | None = None
    _cli_version: str | None = None

    @property
    def parked(self) -> bool:
        """Whether the process waits in the handler of a call that has left."""
        return self._parked is not None and self._parked.done()

    @property
    def alive(self) -> bool:
        """Whether the process still waits; it may have been killed."""
        return self.parked and self._next is not None and not self._next.done()

    async def run(self, prompts: Sequence[str]) -> SegmentResult:
        """Starts the CLI and runs it to the end of the segment. Raises `SegmentFailed`, or what the SDK raises.

        With a result in the handler lock, the run begins with the hand-over of it.

        Args:
            prompts: New user messages, given as one.
        """
        self._client = ClaudeSDKClient(self.options)
        return await self._killed_if_it_fails(self._start(self._client, prompts))

    async def go_on(self, result: CallResult, prompts: Sequence[str], say: Callable[[str], None]) -> SegmentResult:
        """Gives a process that waits its result, and runs it to the next end."""
        self.say = say
        self.hook_lock.renew()
        return await self._killed_if_it_fails(self._hand_over(prompts, result))

    async def end(self) -> None:
        """Ends the process after its last run. After a deferral it is spent: anything sent to it would be an error."""
        await self._end_client()

    async def close(self) -> None:
        """Ends a process that waits or has failed, before it can ask the model for more."""
        with _quiet_killing():
            self.kill()
            await self._end_client()

    async def park(self, call: LeavingCall) -> bool:
        """The process waits with the call, if it is its reply's only one and the transcript can be completed.

        See `HookLock`. The transcript then ends as after a real deferral, so a new process can go on from it.
        """
        if self._cli_version not in COMPARED_CLI_VERSIONS:
            return False
        if not await self._replies.is_only_call(call.tool_use_id, _WHOLE_REPLY_SECONDS):
            return False
        if call.tool_use_id in self.known or self._replies.count(call.tool_use_id) > 1:
            return False
        if not await self.transcript.wait_for(lambda entry: holds_call(entry, call.tool_use_id), _MIRROR_SECONDS):
            return False
        entry = deferral_entry(self.transcript.added, call.tool_use_id, call.permission_mode)
        if entry is None or self._parked is None or self._parked.done():
            return False
        self.transcript.add(entry)
        self.handler_lock.expect(call.tool_use_id)
        wish = ToolWish(tool_use_id=call.tool_use_id, tool=call.tool, arguments=call.arguments)
        self._parked.set_result(SegmentResult(wish, self._heard.before(call.tool_use_id)))
        return True

    async def is_overtaken(self, leaving: str, by: str) -> bool:
        """Whether the CLI gave up the call that was to leave and had the model reply anew; see `HookLock`."""
        return await self._replies.is_in_another(by, leaving, _MIRROR_SECONDS)

    async def _killed_if_it_fails(self, work: Coroutine[Any, Any, SegmentResult]) -> SegmentResult:
        try:
            return await work
        except BaseException:
            await self.close()
            raise

    async def _start(self, client: ClaudeSDKClient, prompts: Sequence[str]) -> SegmentResult:
        await client.connect()
        self._messages = _messages(client)
        if self.handler_lock.recorded is not None:
            # No prompt: the CLI replays the pending call by itself, and an empty prompt would add a turn.
            return await self._hand_over(prompts, None)
        return await self._ask(client, prompts)

    async def _hand_over(self, prompts: Sequence[str], result: CallResult | None) -> SegmentResult:
        assert self._client is not None, "a result is handed to a connected CLI"
        self.hook_lock.hold(bool(prompts))
        if result is not None:
            self.handler_lock.give(result)
        # A resume with nothing pending would wait for ever, and a process that waits may be stuck.
        with not_the_messages(bool(prompts)):
            first = await self._until_result(take_within=_START_AND_TAKE_SECONDS if result is None else _TAKE_SECONDS)
        if not prompts:
            return first
        self.hook_lock.hold(False)
        ended = await self._ask(self._client, prompts)
        return SegmentResult(ended.wish, ended.said.after(first.said))

    async def _ask(self, client: ClaudeSDKClient, prompts: Sequence[str]) -> SegmentResult:
        await client.query("\n\n".join(prompts))
        return await self._until_result(take_within=None)

    async def _until_result(self, *, take_within: float | None) -> SegmentResult:
        """Hears the CLI to the end of the run; `take_within` seconds, it must take the recorded result."""
        assert self._messages is not None, "messages come from a connected CLI"
        self._heard.clear()
        self._told = False
        self._parked = asyncio.get_running_loop().create_future()
        while True:
            if self._next is None:
                self._next = asyncio.ensure_future(anext(self._messages))
            bound = None if self._told else take_within
            await asyncio.wait((self._next, self._parked), timeout=bound, return_when=asyncio.FIRST_COMPLETED)
            if self._next.done():
                message = self._taken(self._next)
                self._next = None
                if isinstance(message, ResultMessage):
                    return self._end(message, handing_over=take_within is not None)
                await self._hear(message)
            elif self._parked.done():
                self._check_told(handing_over=take_within is not None)
                return self._parked.result()
            else:
                raise SegmentFailed(f"The CLI did not take the result of the pending call within {bound:g} s.")

    def _taken(self, task: asyncio.Task[Message]) -> Message:
        try:
            return task.result()
        except StopAsyncIteration:
            raise SegmentFailed("The CLI ended without a result.") from None

    async def _end_client(self) -> None:
        heard, self._next = self._next, None
        if self._client is not None:
            await _end(self._client, heard)

    async def _hear(self, message: Message) -> None:
        self._check_ids(message)
        match message:
            case SystemMessage(subtype="init", data=data):
                self._cli_version = str(data.get("claude_code_version"))
                check_init(data, [mcp_name(name) for name in self.offered])
                warn_if_untested(data)
            case SystemMessage(subtype="api_retry", data=data):
                check_retry(data)
            case SystemMessage(subtype="informational", data=data):
                check_submitted(data)
            case StreamEvent(parent_tool_use_id=None, event=event):
                if self.hook_lock.leaving is None and (text := _delta(event)):
                    self.say(text)
                self._heard.stream(event)
                await self._replies.hear(event)
            case AssistantMessage(parent_tool_use_id=None):
                self._heard.hear(message)
            case UserMessage(parent_tool_use_id=None, content=list(blocks)):
                self._hear_results(block for block in blocks if isinstance(block, ToolResultBlock))
            case _:
                pass

    def _check_ids(self, message: Message) -> None:
        """Results and approvals are bound to tool-use IDs, and the CLI orders what was said by the replies' IDs."""
        match message:
            case StreamEvent(parent_tool_use_id=None, event={"type": "message_start", "message": {"id": str(reply)}}):
                if reply:
                    self._check_id("message ID", reply, "replies")
            case AssistantMessage(content=content):
                for block in content:
                    if isinstance(block, ToolUseBlock):
                        self._check_id("tool-use ID", block.id, "calls")
            case _:
                pass

    def _check_id(self, kind: str, given: str, to: str) -> None:
        if given in self._ids or given in self.known:
            raise SegmentFailed(
                f"The model's API gave the {kind} {given!r} to two {to} of this conversation, so it is not known which "
                "one is meant; nothing is called. A gateway before the API must give each an ID of its own.",
                refused=Refused.REQUEST,
            )
        self._ids.add(given)

    def _check_told(self, *, handing_over: bool) -> None:
        if handing_over and not self._told:
            raise SegmentFailed("The CLI went on without the recorded result of the pending call.")

    def _hear_results(self, results: Iterable[ToolResultBlock]) -> None:
        recorded = self.handler_lock.recorded
        for result in results:
            if recorded is None or result.tool_use_id != recorded.tool_use_id:
                continue
            if not (self.handler_lock.handed_out and is_told(recorded, result)):
                # Such as that the call took too long: the next attempt gives it what was recorded.
                raise SegmentFailed("The CLI tells the model something else of the call than what was recorded.")
            self._told = True

    def _end(self, message: ResultMessage, *, handing_over: bool) -> SegmentResult:
        if not self._heard.stays_cut(message):
            check_result(message, str(self.options.model or "the default model"), self._heard.error)
        self._check_told(handing_over=handing_over)
        deferred = message.deferred_tool_use
        if deferred is None:
            check_asked(message, asked=self._heard.asked)
            return SegmentResult(None, self._heard.answer())
        name = short_name(deferred.name)
        if name is None:
            raise SegmentFailed(f"The CLI deferred {deferred.name!r}, which is not a tool of this session.")
        wish = ToolWish(tool_use_id=deferred.id, tool=name, arguments=deferred.input)
        return SegmentResult(wish, self._heard.before(deferred.id))


@contextmanager
def _quiet_killing() -> Generator[None]:
    """The SDK calls the end of a CLI we killed a fatal error; what it was killed for is said elsewhere."""

    def tells_something(record: logging.LogRecord) -> bool:
        return f"exit code {-signal.SIGKILL}" not in record.getMessage()

    log = logging.getLogger("claude_agent_sdk._internal.query")
    log.addFilter(tells_something)
    try:
        yield
    finally:
        log.removeFilter(tells_something)


async def _end(client: ClaudeSDKClient, heard: asyncio.Task[Message] | None) -> None:
    """Ends the CLI, however often the task is cancelled meanwhile: the SDK would leave the process behind."""

    async def end() -> None:
        if heard is not None:
            heard.cancel()
            await asyncio.gather(heard, return_exceptions=True)
        await client.disconnect()

    ending = asyncio.ensure_future(end())
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


def _delta(event: dict[str, Any]) -> str:
    if event.get("type") != "content_block_delta":
        return ""
    delta: dict[str, Any] = event.get("delta") or {}
    return str(delta.get("text", "")) if delta.get("type") == "text_delta" else ""
