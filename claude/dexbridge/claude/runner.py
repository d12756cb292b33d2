"""The Claude adapter: runs segments on the real CLI, a new process for each."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from pathlib import Path

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
        """Removes the folder of this Worker."""
        await asyncio.to_thread(self._folder.close)

    async def _run(self, conversation: Conversation, result: CallResult | None, prompts: Sequence[str]) -> SegmentEnd:
        options = self._options(conversation)
        limit = conversation.limit.total_seconds()
        transcript = SegmentTranscript()
        try:
            async with asyncio.timeout(limit):
                ended = await self._segment(conversation, options, transcript, result, prompts)
        except TimeoutError:
            raise SegmentFailed(
                f"The segment took longer than run_model_limit, {limit:g} s: raise it, or ask for less at once.",
                permanent=True,
            ) from None
        except Exception as error:  # noqa: BLE001 - the SDK raises many kinds; each is a failed segment
            failure = as_segment_failure(error)
            logger.info("A segment of %s failed: %s", conversation.session_id, failure)
            raise failure from None
        if ended.wish is None:
            return Answered(ended.text, transcript.added)
        return CallLeaves(ended.wish, ended.text, transcript.added, prompts_given=ended.prompts_given)

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
        with self._folder.segment() as configuration:
            cwd = str(options.cwd or self._cwd)
            if conversation.begun:
                entries = await conversation.load_transcript()
                await asyncio.to_thread(write_transcript, configuration, cwd, conversation.conversation_id, entries)
            complete = segment_options(
                options,
                hook_lock=hook_lock,
                handler_lock=handler_lock,
                transcript=transcript,
                configuration=configuration,
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
            )
            return await segment.run()

    def _options(self, conversation: Conversation) -> ClaudeAgentOptions:
        context = ClaudeAgentOptionsContext(conversation.session_id, self._flow_type)
        try:
            options = self._build_options(context)
        except Exception as error:
            logger.exception("build_options failed for %s.", conversation.session_id)
            raise SegmentFailed(
                f"The application's build_options raised {type(error).__name__}; the Worker's log has it.",
                permanent=True,
            ) from None
        check_options(options, self._tools, os.environ)
        return options


def _log_stderr(line: str) -> None:
    logger.debug("CLI: %s", line)
