"""The Claude adapter: runs segments on the real CLI, a new process for each."""

from __future__ import annotations

import asyncio
import logging
import os
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import ClaudeAgentOptions

from dexbridge.claude.failures import as_segment_failure
from dexbridge.claude.handler_lock import HandlerLock
from dexbridge.claude.hook_lock import HookLock
from dexbridge.claude.options import BuildOptions, ClaudeAgentOptionsContext, check_options, segment_options
from dexbridge.claude.segment import Segment, SegmentResult
from dexbridge.claude.transcript import SegmentTranscript, write_transcript
from dexbridge.claude.worker_folder import WorkerFolder
from dexbridge.sessions import Answered, CallLeaves, CallResult, Conversation, SegmentEnd, SegmentFailed
from dexbridge.toolsource import OfferedTools

__all__ = ["ClaudeRunner"]

logger = logging.getLogger(__name__)

_CLOSE_SECONDS = 30.0


class ClaudeRunner:
    """Implements the two operations of architecture decision 8 with a cold resume.

    Args:
        build_options: The application's options factory.
        tools: What the session offers.
        flow_type: Handed to the factory.
    """

    def __init__(self, build_options: BuildOptions, tools: OfferedTools, flow_type: str) -> None:
        self._build_options = build_options
        self._tools = tools
        self._flow_type = flow_type
        self._folder = WorkerFolder()
        self._running: set[asyncio.Task[Any]] = set()
        # The CLI tells the model when the folder changes between segments, so it is read once.
        self._cwd = str(Path.cwd())

    async def run_until_call(self, conversation: Conversation, prompts: Sequence[str]) -> SegmentEnd:
        """Gives the model new user messages."""
        return await self._run(conversation, None, prompts)

    async def give_result(
        self, conversation: Conversation, result: CallResult, prompts: Sequence[str] = ()
    ) -> SegmentEnd:
        """Resumes the Claude session: the CLI asks for the pending call's result and gets the recorded one."""
        return await self._run(conversation, result, prompts)

    async def close(self) -> None:
        """Ends the segments that still run and removes the folder of this Worker."""
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=_CLOSE_SECONDS)
        await asyncio.to_thread(self._folder.close)

    async def _run(self, conversation: Conversation, result: CallResult | None, prompts: Sequence[str]) -> SegmentEnd:
        options = self._options(conversation)
        limit = conversation.limit.total_seconds()
        transcript = SegmentTranscript()
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        timer = asyncio.timeout(limit)
        try:
            async with timer:
                ended = await self._segment(conversation, options, transcript, result, prompts)
        except Exception as error:  # noqa: BLE001 - the SDK raises many kinds; each is a failed segment
            failure = _too_long(limit) if timer.expired() else as_segment_failure(error)
            logger.info("A segment of %s failed: %s", conversation.session_id, failure)
            raise failure from None
        finally:
            self._running.discard(task)
        if not transcript.added:
            # Committed without it, the next segment would begin a new conversation without a word.
            raise SegmentFailed("The CLI gave no transcript: leave its session persistence on.", permanent=True)
        if ended.wish is None:
            return Answered(ended.text, transcript.added)
        return CallLeaves(ended.wish, ended.text, transcript.added)

    async def _segment(
        self,
        conversation: Conversation,
        options: ClaudeAgentOptions,
        transcript: SegmentTranscript,
        result: CallResult | None,
        prompts: Sequence[str],
    ) -> SegmentResult:
        hook_lock = HookLock(self._tools, result)
        handler_lock = HandlerLock(self._tools, result, hook_lock.forget)
        with self._folder.segment() as folder:
            cwd = str(options.cwd or self._cwd)
            if conversation.begun:
                entries = await conversation.load_transcript()
                await asyncio.to_thread(
                    write_transcript, folder.configuration, cwd, conversation.conversation_id, entries
                )
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
                offered=[tool.name for tool in self._tools],
                prompts=prompts,
                hands_over=result is not None,
                say=conversation.say,
                kill=folder.kill,
            )
            return await segment.run()

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
        return options


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
