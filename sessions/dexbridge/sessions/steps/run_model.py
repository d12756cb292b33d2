"""RunModel: one segment of the agent framework, committed whole or not at all."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from dexbridge.sessions.changes.left_out import kept_rows, prompt_texts, with_given
from dexbridge.sessions.changes.notes import outcomes
from dexbridge.sessions.changes.state_limit import weigh
from dexbridge.sessions.changes.turns import assistant_messages, end_turn, take_steering
from dexbridge.sessions.changes.withdrawal import stop_at_limit, stop_turn, superseded, withdraw
from dexbridge.sessions.errors import SegmentFailed
from dexbridge.sessions.runner import Answered, CallLeaves, Conversation, SegmentEnd
from dexbridge.sessions.state.call import PendingCall, ToolWish
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.inside_call import InsideCall, inside_call_began
from dexbridge.sessions.state.message import Message
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.text import storable_json, storable_text
from dexbridge.sessions.state.transition import Change, TranscriptEntry, Transition
from dexbridge.sessions.steps.call_checks import asks, tool_step
from dexbridge.sessions.steps.context import StepContext, completed
from dexbridge.sessions.steps.refused_segment import refused_segment
from dexbridge.sessions.steps.results import not_called
from dexbridge.toolsource import (
    AgentTool,
    InvalidArguments,
    OutcomeKind,
    ToolOutcome,
    fingerprint,
)

__all__ = ["run_model"]

logger = logging.getLogger(__name__)

T = TypeVar("T")


async def run_model(context: StepContext) -> Change:
    """Runs a segment, whole again when it fails, up to the flow's number of attempts."""
    if (runs := context.state.runs) > context.flow.limits.segment_runs:
        return _failed(
            context,
            f"This segment was begun {runs - 1} times, and each time its Worker was lost before it ended; it is not "
            "begun again. What ended the Workers is in their logs or their machine's.",
        )
    try:
        ran = await _unless_cancelled(context, _segment(context))
    except SegmentFailed as failure:
        if failure.refused is not None:
            return await refused_segment(context, str(failure), failure.refused)
        return _failed(context, str(failure))
    if ran is None:
        return _cancelled(context)
    end, attempts = ran
    end = replace(end, transcript=_storable(end.transcript), earlier=tuple(storable_text(text) for text in end.earlier))
    match end:
        case Answered(text=text) if text.strip():
            return _answered(context, replace(end, text=storable_text(text)), attempts)
        case Answered():
            return _answered(context, replace(end, text=""), attempts, await _no_answer(context))
        case CallLeaves():
            return _call_left(context, replace(end, said=storable_text(end.said)), attempts)


async def _unless_cancelled(context: StepContext, work: Coroutine[Any, Any, T]) -> T | None:
    """Runs the work; `None` when the turn was cancelled before it ended, and the work with it."""
    running = asyncio.ensure_future(work)
    cancelled = asyncio.ensure_future(context.cancelled())
    try:
        await asyncio.wait((running, cancelled), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return running.result()
        # Raises when the session was taken over: then the segment is of no use any more.
        return cancelled.result()
    finally:
        for task in (running, cancelled):
            task.cancel()
        # The CLI is gone before the Step ends.
        await asyncio.gather(running, cancelled, return_exceptions=True)


async def _segment(context: StepContext) -> tuple[SegmentEnd, int]:
    state, runner, limits = context.state, context.flow.runner, context.flow.limits
    attempts = 0

    async def began_inside(call: InsideCall) -> None:
        await context.record(inside_call_began(state, attempts, call))

    async def load_kept() -> Sequence[TranscriptEntry]:
        return kept_rows(await context.load_transcript(), state.left_out)

    conversation = Conversation(
        session_id=state.session_id,
        conversation_id=state.conversation_id,
        transcript_rows=state.transcript_rows,
        load_transcript=load_kept,
        say=context.say,
        limit=limits.run_model,
        began_inside=began_inside,
        left_out_rows=sum(end - first for first, end in state.left_out),
    )
    prompts = prompt_texts(state)
    async for attempt in AsyncRetrying(
        stop=stop_after_attempt(limits.segment_attempts),
        wait=wait_exponential_jitter(multiplier=0.5, max=10),
        retry=retry_if_exception(_worth_another_attempt),
        reraise=True,
        sleep=asyncio.sleep,
    ):
        with attempt:
            attempts += 1
            tried = replace(conversation, attempt=attempts)
            if state.result is not None:
                work = runner.give_result(tried, state.result, prompts)
            else:
                work = runner.run_until_call(tried, prompts)
            return await _bounded(work, limits.run_model), attempts
    raise AssertionError("the loop above returns or raises")


async def _bounded(work: Awaitable[SegmentEnd], limit: timedelta) -> SegmentEnd:
    """The runner keeps the limit itself and says so; one that does not must not hold the session for ever."""
    timer = asyncio.timeout(limit.total_seconds() * 1.25 + 1)
    try:
        async with timer:
            return await work
    except TimeoutError:
        if not timer.expired():
            raise
        raise SegmentFailed(f"The segment did not end within {limit.total_seconds():g} s and was stopped.") from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise SegmentFailed("The segment was cancelled inside the agent framework.") from None


def _worth_another_attempt(error: BaseException) -> bool:
    return isinstance(error, SegmentFailed) and not error.permanent


def _cancelled(context: StepContext) -> Change:
    def change(state: SessionState) -> Transition:
        return stop_turn(state, completed(context, ended="cancelled"))

    return change


def _failed(context: StepContext, reason: str) -> Change:
    def change(state: SessionState) -> Transition:
        if state.cancelling:
            return stop_turn(state, completed(context, error=reason))
        # The prompt and an undelivered result stay: the next turn gives them to the model.
        return end_turn(
            state.model_copy(update={"last_error": reason}),
            completed(context, error=reason),
            NewEvent(kind=EventKind.TURN_FAILED, data={"turn": state.turn, "error": reason}),
        )

    return change


async def _no_answer(context: StepContext) -> str:
    calls = [call for call in await context.load_calls() if call.turn == context.state.turn]
    return f"The model gave no answer.{outcomes(calls)} It has read the message: send another one to go on."


def _answered(context: StepContext, end: Answered, attempts: int, missing: str | None = None) -> Change:
    """The change of a segment with the model's last reply; `missing` says so when that was blank."""

    def change(state: SessionState) -> Transition:
        said = assistant_messages(state, (*end.earlier, end.text))
        kept, size = weigh(_committed(state, end.transcript), context.flow.limits)
        ran = completed(context, ended="answered", segment_attempts=attempts)
        if kept.steering and not (kept.cancelling or kept.ending is not None):
            steered, asked = take_steering(kept)
            return Transition(steered.with_due(StepType.RUN_MODEL), (*said, *asked), end.transcript, (), (ran, *size))
        if missing is None:
            answered = NewEvent(kind=EventKind.TURN_ANSWERED, data={"turn": state.turn, "text": end.text})
        else:
            kept = kept.model_copy(update={"last_error": missing})
            answered = NewEvent(kind=EventKind.TURN_FAILED, data={"turn": state.turn, "error": missing})
        ended = end_turn(kept, ran, answered, *size, messages=said)
        return Transition(ended.state, ended.messages, end.transcript, ended.calls, ended.events)

    return change


def _call_left(context: StepContext, end: CallLeaves, attempts: int) -> Change:
    wish = end.wish
    tool = context.flow.tools.find(wish.tool)
    event = completed(
        context, ended="call_left", tool=wish.tool, tool_use_id=wish.tool_use_id, segment_attempts=attempts
    )

    # Outside the change: validation and the approval predicate are the application's code, and a change runs in a
    # database transaction, perhaps twice.
    call = _checked(wish, tool)

    def change(state: SessionState) -> Transition:
        said = assistant_messages(state, (*end.earlier, end.said))
        kept, size = weigh(_committed(state, end.transcript), context.flow.limits)
        if isinstance(call, ToolOutcome):
            return _with(not_called(context, kept, wish, call), said, end, event, *size)
        assert tool is not None, "a checked call has a tool"
        step = StepType.AWAIT_TOOL_APPROVAL if call.asked else tool_step(tool)
        moved = kept.model_copy(update={"call": call}).with_due(step)
        if moved.cancelling:
            return _with(stop_turn(moved), said, end, event, *size)
        if moved.ending is not None:
            return _with(stop_at_limit(moved), said, end, event, *size)
        if moved.steering and call.asked:
            taken, withdrawn = withdraw(moved, superseded(call))
            return Transition(taken.with_due(StepType.RESUME_TURN), said, end.transcript, withdrawn, (event, *size))
        return Transition(moved, said, end.transcript, (), (event, *size))

    return change


def _checked(wish: ToolWish, tool: AgentTool | None) -> PendingCall | ToolOutcome:
    """The call to make, or the outcome of one that cannot be made as the model asked for it."""
    if tool is None:
        return ToolOutcome(OutcomeKind.FAILED, f"There is no tool {wish.tool!r}; nothing was called.")
    try:
        validated = tool.validate(copy.deepcopy(wish.arguments))
    except InvalidArguments as error:
        return ToolOutcome(OutcomeKind.FAILED, storable_text(str(error)))
    except Exception as error:  # noqa: BLE001 - a tool of the application may raise anything; the model must hear of it
        logger.warning("Checking the arguments of %s raised %s.", wish.tool, type(error).__name__)
        reason = f"checking its arguments stopped with {type(error).__name__}"
        return ToolOutcome(OutcomeKind.FAILED, f"The call of {wish.tool} was not made: {reason}.")
    arguments = storable_json(validated)
    if arguments is None:
        return ToolOutcome(OutcomeKind.FAILED, f"The call of {wish.tool} was not made: its arguments are no JSON.")
    return PendingCall(
        tool_use_id=wish.tool_use_id,
        tool=wish.tool,
        connection=None if tool.bound is None else str(tool.bound.reference),
        arguments=arguments,
        fingerprint=fingerprint(arguments),
        asked=asks(tool, arguments),
    )


def _storable(transcript: tuple[TranscriptEntry, ...]) -> tuple[TranscriptEntry, ...]:
    return tuple(TranscriptEntry(storable_text(entry.json), entry.subpath) for entry in transcript)


def _with(after: Transition, said: tuple[Message, ...], end: CallLeaves, *events: NewEvent) -> Transition:
    return Transition(after.state, (*said, *after.messages), end.transcript, after.calls, (*events, *after.events))


def _committed(state: SessionState, transcript: tuple[TranscriptEntry, ...]) -> SessionState:
    """The model has now seen the prompt and the result in a segment that is kept."""
    return with_given(state).model_copy(
        update={
            "transcript_rows": state.transcript_rows + len(transcript),
            "transcript_bytes": state.transcript_bytes + sum(len(entry.json.encode()) for entry in transcript),
        }
    )
