"""The Claude adapter: runs segments on the real CLI."""

from __future__ import annotations

import asyncio
import logging
import os
import time
import traceback
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import ClaudeAgentOptions

from dexbridge.claude.conversation.made_entries import result_entry
from dexbridge.claude.conversation.resume_file import known_ids, write_resume_file
from dexbridge.claude.conversation.transcript import SegmentTranscript
from dexbridge.claude.failures import as_segment_failure
from dexbridge.claude.locks.handler import HandlerLock
from dexbridge.claude.locks.hook import HookLock, LeavingCall
from dexbridge.claude.locks.inside_writes import InlineWrites, check_inline_writes, inside_writers
from dexbridge.claude.locks.objections import Objections
from dexbridge.claude.options.checks import check_options
from dexbridge.claude.options.segment_options import (
    BuildOptions,
    ClaudeAgentOptionsContext,
    segment_options,
    tool_seconds,
)
from dexbridge.claude.processes.parking import Parked, ParkingLot
from dexbridge.claude.processes.slots import CliProcesses, memory_is_short, shared_slots
from dexbridge.claude.processes.worker_folder import WorkerFolder
from dexbridge.claude.segment import Segment
from dexbridge.sessions import Answered, CallLeaves, CallResult, Conversation, SegmentEnd, SegmentFailed, ToolWish
from dexbridge.toolsource import OfferedTools

__all__ = ["ClaudeRunner"]

logger = logging.getLogger(__name__)

_CLOSE_SECONDS = 30.0
_MARGIN_SECONDS = 30.0
# So often a result is handed to a CLI that asks for it; if none takes it, it is written into the conversation.
_HANDED_OVER = 2
_GO_ON = "The result of your last call stands above. Go on from there."


class ClaudeRunner:
    """Implements the two operations of architecture decision 8, with a process that waits or with a cold resume.

    Args:
        build_options: The application's options factory.
        tools: What the session offers.
        flow_type: Handed to the factory.
        processes: How many CLI processes, and how long one waits.
        inline_writes: Whether options may hold tools that may write inside the CLI.
    """

    def __init__(
        self,
        build_options: BuildOptions,
        tools: OfferedTools,
        flow_type: str,
        processes: CliProcesses = CliProcesses(),  # noqa: B008 - a frozen value
        inline_writes: InlineWrites = "allow",
    ) -> None:
        self._inline_writes: InlineWrites = inline_writes
        self._warned: set[Sequence[str]] = set()
        self._ignored: set[str] = set()
        self._build_options = build_options
        self._tools = tools
        self._flow_type = flow_type
        self._processes = processes
        self._lot = ParkingLot()
        self._slots = shared_slots(processes)
        self._slots.evict_from(self._lot)
        self._folder = WorkerFolder()
        self._running: set[asyncio.Task[Any]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        # The CLI tells the model when the folder changes between segments, so it is read once.
        self._cwd = str(Path.cwd())

    async def run_until_call(self, conversation: Conversation, prompts: Sequence[str]) -> SegmentEnd:
        """Gives the model new user messages."""
        return await self._run(conversation, None, prompts)

    async def give_result(
        self, conversation: Conversation, result: CallResult, prompts: Sequence[str] = ()
    ) -> SegmentEnd:
        """Gives the recorded result to the process that waits for it, or to a new one that resumes the session."""
        return await self._run(conversation, result, prompts)

    async def close(self) -> None:
        """Ends the segments that still run, the processes that wait, and the folder of this Worker."""
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=_CLOSE_SECONDS)
        await self._lot.close()
        if ending := set(self._ending):
            await asyncio.wait(ending, timeout=_CLOSE_SECONDS)
        await asyncio.to_thread(self._folder.close)

    async def _run(self, conversation: Conversation, result: CallResult | None, prompts: Sequence[str]) -> SegmentEnd:
        options = self._options(conversation)
        limit = conversation.limit.total_seconds()
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        timer = asyncio.timeout(limit)
        try:
            parked = await self._lot.take(conversation, result)
            async with AsyncExitStack() as held:
                if parked is not None:
                    held.push_async_exit(parked.held)
                else:
                    if memory_is_short():
                        await self._lot.make_room()
                    await self._slots.take()
                    held.callback(self._slots.give_back)
                async with timer:
                    if parked is not None and result is not None:
                        segment = parked.segment
                        segment.hook_lock.record_with(conversation.began_inside)
                        ended = await segment.go_on(result, prompts, conversation.say)
                    else:
                        segment, asked = await self._prepare(held, conversation, options, result, prompts)
                        ended = await segment.run(asked)
                added = segment.transcript.take()
                if segment.parked:
                    assert ended.wish is not None
                    rows = conversation.transcript_rows + len(added)
                    asks = self._asks(ended.wish)
                    waiting = Parked(segment, held.pop_all(), ended.wish.tool_use_id, rows, asks, time.monotonic())
                    await self._lot.put(conversation.session_id, waiting, self._processes.bound(asks=asks))
                else:
                    self._end_later(segment, held.pop_all())
        except Exception as error:  # noqa: BLE001 - the SDK raises many kinds; each is a failed segment
            failure = _too_long(limit) if timer.expired() else as_segment_failure(error)
            logger.info("A segment of %s failed: %s", conversation.session_id, failure)
            raise failure from None
        finally:
            self._running.discard(task)
        if not added:
            # Committed without it, the next segment would begin a new conversation without a word.
            raise SegmentFailed("The CLI gave no transcript: leave its session persistence on.", permanent=True)
        if ended.wish is None:
            return Answered(ended.said.text, added, ended.said.earlier)
        return CallLeaves(ended.wish, ended.said.text, added, ended.said.earlier)

    def _end_later(self, segment: Segment, held: AsyncExitStack) -> None:
        """Ends the process while the segment is being committed; its folder and its slot are given back then."""

        async def end() -> None:
            async with held:
                await segment.end()

        task = asyncio.create_task(end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _prepare(
        self,
        held: AsyncExitStack,
        conversation: Conversation,
        options: ClaudeAgentOptions,
        result: CallResult | None,
        prompts: Sequence[str],
    ) -> tuple[Segment, Sequence[str]]:
        transcript = SegmentTranscript()
        segments: list[Segment] = []

        async def park(call: LeavingCall) -> bool:
            # Whoever waits for a slot is better served than a process that would wait for a person. One that waits for
            # a tool is back in a moment, and a new process would cost more than it keeps.
            if (call.asks and self._slots.wanted) or self._processes.bound(asks=call.asks) <= 0:
                return False
            if memory_is_short() or not self._outlasts(options, asks=call.asks):
                return False
            return await segments[0].park(call)

        async def overtaken(leaving: str, by: str) -> bool:
            return await segments[0].is_overtaken(leaving, by)

        entries = await conversation.load_transcript() if conversation.begun else ()
        if result is not None and conversation.attempt > _HANDED_OVER:
            made = await asyncio.to_thread(result_entry, entries, result)
            if made is not None:
                transcript.add(made)
                entries, result, prompts = (*entries, made), None, prompts or (_GO_ON,)
        hook_lock = HookLock(
            self._tools,
            result,
            park,
            began=conversation.began_inside,
            objections=Objections(options, self._ignored),
            inline_writes=self._inline_writes,
            overtaken=overtaken,
        )
        handler_lock = HandlerLock(self._tools, result, hook_lock.forget)
        folder = held.enter_context(self._folder.segment())
        cwd = str(options.cwd or self._cwd)
        if conversation.begun:
            place = (folder.configuration, cwd, conversation.conversation_id)
            await asyncio.to_thread(write_resume_file, *place, entries, None if result is None else result.tool_use_id)
        complete = segment_options(
            options,
            hook_lock=hook_lock,
            handler_lock=handler_lock,
            transcript=transcript,
            configuration=folder.configuration,
            environment=os.environ,
            cli=self._folder.cli(options.cli_path),
            cwd=cwd,
            on_stderr=_log_stderr,
        )
        if conversation.begun:
            complete.resume = conversation.conversation_id
        else:
            complete.session_id = conversation.conversation_id
        segment = Segment(
            options=complete,
            hook_lock=hook_lock,
            handler_lock=handler_lock,
            transcript=transcript,
            offered=[tool.name for tool in self._tools],
            say=conversation.say,
            kill=folder.kill,
            known=await asyncio.to_thread(known_ids, entries),
        )
        segments.append(segment)
        return segment, prompts

    def _outlasts(self, options: ClaudeAgentOptions, *, asks: bool) -> bool:
        """Whether the CLI may wait for the call: longer than we do, or past its own bound it would go on by itself.

        One that counts turns or cost counts them over all the segments it runs; a new process begins anew.
        """
        if options.max_turns or options.max_budget_usd is not None:
            return False
        seconds = tool_seconds(options)
        return seconds is None or seconds > self._processes.bound(asks=asks) + _MARGIN_SECONDS

    def _asks(self, wish: ToolWish) -> bool:
        """Whether the call waits for a person."""
        tool = self._tools.find(wish.tool)
        return tool is None or tool.asks(wish.arguments)

    def _options(self, conversation: Conversation) -> ClaudeAgentOptions:
        context = ClaudeAgentOptionsContext(conversation.session_id, self._flow_type)
        try:
            options = self._build_options(context)
        except Exception as error:  # noqa: BLE001 - the application's own function
            # Type and place only: the text of a foreign exception may hold a credential.
            logger.error("build_options failed for %s: %s", conversation.session_id, _place(error))
            raise SegmentFailed(
                f"The application's build_options raised {type(error).__name__}; the Worker's log says where.",
                permanent=True,
            ) from None
        if not isinstance(cast("object", options), ClaudeAgentOptions):
            raise SegmentFailed(
                f"The application's build_options must return ClaudeAgentOptions, not {type(options).__name__}.",
                permanent=True,
            )
        check_options(options, self._tools, os.environ)
        if self._inline_writes == "refuse":
            check_inline_writes(options)
        self._warn_of_writers(options)
        return options

    def _warn_of_writers(self, options: ClaudeAgentOptions) -> None:
        """Once per flow, and again when other options are used."""
        writers = inside_writers(options)
        if writers and writers not in self._warned:
            self._warned.add(writers)
            logger.warning(
                "The flow %s may write inside the CLI without being asked, and again when a segment is run again: %s. "
                'Only offered tools are protected; inline_writes="refuse" refuses the others.',
                self._flow_type,
                "; ".join(writers),
            )


def _too_long(limit: float) -> SegmentFailed:
    return SegmentFailed(
        f"The segment took longer than run_model_limit, {limit:g} s: raise it, or ask for less at once.",
        permanent=True,
    )


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    calls = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    return f"{type(error).__name__} at {calls}"


def _log_stderr(line: str) -> None:
    logger.debug("CLI: %s", line)
