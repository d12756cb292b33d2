"""RunModel: one segment of the agent framework, committed whole or not at all."""

from __future__ import annotations

import asyncio

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from dexbridge.sessions.call import PendingCall
from dexbridge.sessions.errors import SegmentFailed
from dexbridge.sessions.event import EventKind, NewEvent
from dexbridge.sessions.message import Message
from dexbridge.sessions.runner import Answered, CallLeaves, Conversation, SegmentEnd
from dexbridge.sessions.state import SessionState
from dexbridge.sessions.step import StepType
from dexbridge.sessions.steps.context import StepContext, completed
from dexbridge.sessions.steps.results import not_called
from dexbridge.sessions.transition import Change, TranscriptEntry, Transition
from dexbridge.sessions.turns import assistant_message, end_turn
from dexbridge.toolsource import (
    AgentTool,
    InvalidArguments,
    OutcomeKind,
    ToolEffect,
    ToolOutcome,
    fingerprint,
)

__all__ = ["run_model"]


async def run_model(context: StepContext) -> Change:
    """Runs a segment, whole again when it fails, up to the flow's number of attempts."""
    try:
        end, attempts = await _segment(context)
    except SegmentFailed as failure:
        return _failed(context, str(failure))
    match end:
        case Answered():
            return _answered(context, end, attempts)
        case CallLeaves():
            return _call_left(context, end, attempts)


async def _segment(context: StepContext) -> tuple[SegmentEnd, int]:
    state, runner, limits = context.state, context.flow.runner, context.flow.limits
    conversation = Conversation(
        session_id=state.session_id,
        conversation_id=state.conversation_id,
        begun=state.transcript_rows > 0,
        load_transcript=context.load_transcript,
        say=context.say,
        limit=limits.run_model,
    )
    prompts = [message.text for message in state.prompt]
    attempts = 0
    async for attempt in AsyncRetrying(
        stop=stop_after_attempt(limits.segment_attempts),
        wait=wait_exponential_jitter(multiplier=0.5, max=10),
        retry=retry_if_exception(_worth_another_attempt),
        reraise=True,
        sleep=asyncio.sleep,
    ):
        with attempt:
            attempts += 1
            if state.result is not None:
                return await runner.give_result(conversation, state.result, prompts), attempts
            return await runner.run_until_call(conversation, prompts), attempts
    raise AssertionError("the loop above returns or raises")


def _worth_another_attempt(error: BaseException) -> bool:
    return isinstance(error, SegmentFailed) and not error.permanent


def _failed(context: StepContext, reason: str) -> Change:
    def change(state: SessionState) -> Transition:
        # The prompt and an undelivered result stay: the next turn gives them to the model.
        return end_turn(
            state.model_copy(update={"last_error": reason}),
            completed(context, error=reason),
            NewEvent(kind=EventKind.TURN_FAILED, data={"turn": state.turn, "error": reason}),
        )

    return change


def _answered(context: StepContext, end: Answered, attempts: int) -> Change:
    def change(state: SessionState) -> Transition:
        ended = end_turn(
            _committed(state, end.transcript),
            completed(context, ended="answered", segment_attempts=attempts),
            NewEvent(kind=EventKind.TURN_ANSWERED, data={"turn": state.turn, "text": end.text}),
            messages=assistant_message(state, end.text),
        )
        return Transition(ended.state, ended.messages, end.transcript, ended.calls, ended.events)

    return change


def _call_left(context: StepContext, end: CallLeaves, attempts: int) -> Change:
    wish = end.wish
    tool = context.flow.tools.find(wish.tool)
    event = completed(
        context, ended="call_left", tool=wish.tool, tool_use_id=wish.tool_use_id, segment_attempts=attempts
    )

    def change(state: SessionState) -> Transition:
        said = assistant_message(state, end.said)
        kept = _committed(state, end.transcript, prompts_given=end.prompts_given)
        if tool is None:
            refused = ToolOutcome(OutcomeKind.FAILED, f"There is no tool {wish.tool!r}; nothing was called.")
            return _with(not_called(context, kept, wish, refused), said, end, event)
        try:
            arguments = tool.validate(wish.arguments)
        except InvalidArguments as error:
            refused = ToolOutcome(OutcomeKind.FAILED, str(error))
            return _with(not_called(context, kept, wish, refused), said, end, event)
        asks = tool.asks(arguments)
        call = PendingCall(
            tool_use_id=wish.tool_use_id,
            tool=wish.tool,
            connection=None if tool.bound is None else str(tool.bound.reference),
            arguments=arguments,
            fingerprint=fingerprint(arguments),
            asked=asks,
        )
        step = StepType.AWAIT_TOOL_APPROVAL if asks else tool_step(tool)
        moved = kept.model_copy(update={"call": call}).with_due(step)
        return Transition(moved, said, end.transcript, (), (event,))

    return change


def tool_step(tool: AgentTool) -> StepType:
    """The Step that runs a call of the tool."""
    if tool.effect is ToolEffect.NON_IDEMPOTENT_WRITE:
        return StepType.CALL_SINGLE_ATTEMPT_TOOL
    return StepType.CALL_TOOL


def _with(refused: Transition, said: tuple[Message, ...], end: CallLeaves, event: NewEvent) -> Transition:
    return Transition(refused.state, said, end.transcript, refused.calls, (event, *refused.events))


def _committed(
    state: SessionState, transcript: tuple[TranscriptEntry, ...], *, prompts_given: bool = True
) -> SessionState:
    """The model has now seen the result, and the prompt if it was given, in a segment that is kept."""
    return state.model_copy(
        update={
            "prompt": () if prompts_given else state.prompt,
            "result": None,
            "transcript_rows": state.transcript_rows + len(transcript),
            "transcript_bytes": state.transcript_bytes + sum(len(entry.json) for entry in transcript),
        }
    )
