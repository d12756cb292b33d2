"""CallSingleAttemptTool: a write that must never be made twice."""

from __future__ import annotations

import asyncio
import copy
import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dexbridge.sessions.errors import DispatchCancelled
from dexbridge.sessions.hosting.ledger import Attempt, AttemptState
from dexbridge.sessions.state.call import PendingCall
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.text import storable_text
from dexbridge.sessions.state.transition import Change
from dexbridge.sessions.steps.attempt import (
    after_change,
    dispatch_of,
    look_up_limit,
    make_attempt,
    outcome_from_json,
    outcome_to_json,
    retry_policy,
    storable_outcome,
)
from dexbridge.sessions.steps.call_checks import ask_first, find_unchanged, must_ask
from dexbridge.sessions.steps.context import StepContext
from dexbridge.sessions.steps.results import called, cancelled
from dexbridge.sessions.steps.withheld import with_masks
from dexbridge.toolsource import (
    AgentTool,
    Completed,
    NotDone,
    OutcomeKind,
    StillUnknown,
    ToolOutcome,
    Unsettled,
)

__all__ = ["call_single_attempt_tool"]

logger = logging.getLogger(__name__)

_MOST_QUESTIONS = 3
_LOOK_UP_WITHIN = timedelta(minutes=2)
_LOST_AFTER_IT = "The Worker was lost after the last attempt."
_NOT_KNOWN = "It is not known whether this call took effect. Do not repeat it."


async def call_single_attempt_tool(context: StepContext) -> Change:
    """Makes the call once.

    A row of the ledger that has no end means that a request may have left: it is looked up, never sent again. Only an
    attempt that proved nothing was done is followed by another, with a row of its own.
    """
    call = context.state.call
    assert call is not None, "CallSingleAttemptTool is due only with a call"
    tool = find_unchanged(context.flow.tools, call, context.state.decision, context.step.type)
    last = await context.ledger.last(context.step.id)
    if last is not None:
        context = replace(context, started_at=last.opened_at)
    if isinstance(tool, ToolOutcome):
        # With a row in the ledger the call was dispatched before the change: what became of it must be said.
        outcome = tool if last is None else after_change(call.tool, last, tool)
        return called(context, call, outcome, call_id=None, attempts=0 if last is None else last.number)
    if last is None and must_ask(tool, call):
        return ask_first(context, call)
    once = _Once(context, call, tool, dict(call.arguments))
    outcome, attempts = await once.outcome(last)
    call_id = tool.call_id(dispatch_of(context)) if attempts else None
    recorded, anew = await with_masks(context, call)
    return called(context, recorded, outcome, call_id=call_id, attempts=attempts, anew=anew)


@dataclass(frozen=True, slots=True)
class _Once:
    """The attempts of one execution, and the questions asked when an end was not seen."""

    context: StepContext
    call: PendingCall
    tool: AgentTool
    arguments: dict[str, object]

    async def outcome(self, last: Attempt | None) -> tuple[ToolOutcome, int]:
        give_up_at = now() + retry_policy(self.tool).within
        number = 1
        if last is not None:
            outcome = await self._end_of(last, give_up_at)
            if outcome is not None:
                return outcome, last.number
            number = last.number + 1
        while number <= self.tool.attempts:
            window = self.context.flow.limits.dispatch_window
            try:
                attempt = await self.context.ledger.open(self.context.step.id, number, window)
            except DispatchCancelled:
                return self._cancelled(number - 1), number - 1
            if attempt is None:
                attempt = await self.context.ledger.last(self.context.step.id)
                assert attempt is not None, "a row that could not be inserted exists"
                outcome = await self._end_of(attempt, give_up_at)
            else:
                outcome = await self._attempt(attempt, give_up_at)
            if outcome is not None:
                return outcome, attempt.number
            number = attempt.number + 1
        return self._not_done(_LOST_AFTER_IT, number - 1), number - 1

    async def _attempt(self, attempt: Attempt, give_up_at: datetime) -> ToolOutcome | None:
        """One request; `None` when nothing was done and another attempt may be made now."""
        match await make_attempt(self.context, self.tool, attempt, self.arguments):
            case Completed(outcome=outcome):
                return await self._close(attempt, outcome)
            case NotDone(text=text, delay=delay):
                await self.context.ledger.close(attempt, AttemptState.NOT_DONE, None, now())
                pause = delay or retry_policy(self.tool).pause_after(attempt.number)
                if attempt.number >= self.tool.attempts or now() + pause > give_up_at:
                    return self._not_done(text, attempt.number, delay)
                await self.context.pause(pause.total_seconds())
                return None
            case Unsettled(text=text):
                logger.warning("%s of %s has an uncertain end; looking it up.", self.tool.name, self.context.step.id)
                return await self._close(attempt, await self._look_up(attempt, text))

    def _cancelled(self, attempts: int) -> ToolOutcome:
        if attempts == 0:
            return cancelled(self.call)
        return self._not_done("The user cancelled the turn.", attempts)

    async def _end_of(self, attempt: Attempt, give_up_at: datetime) -> ToolOutcome | None:
        """The end of an attempt this run did not make; `None` as `_attempt` does."""
        if attempt.state is AttemptState.OPEN and self.context.ledger.begun_here(attempt):
            return await self._attempt(attempt, give_up_at)
        if attempt.outcome is not None:
            return outcome_from_json(attempt.outcome)
        if attempt.state is AttemptState.NOT_DONE:
            return None
        outcome = await self._look_up(attempt, "The Worker was lost while the call was under way.")
        return await self._close(attempt, outcome)

    async def _look_up(self, attempt: Attempt, what_happened: str) -> ToolOutcome:
        limits = self.context.flow.limits
        ended_by = attempt.dispatch_before + self.tool.timeout + limits.reconcile_margin
        give_up_at = max(now(), ended_by) + _LOOK_UP_WITHIN
        text = _NOT_KNOWN
        for question in range(1, _MOST_QUESTIONS + 1):
            row = await self.context.ledger.last(attempt.step_execution_id)
            if row is not None and row.outcome is not None:
                # Another process made the request, and has recorded how it ended.
                return outcome_from_json(row.outcome)
            match await self._ask(attempt, ended_by, give_up_at):
                case ToolOutcome() as outcome:
                    return outcome
                case StillUnknown(text=text, ask_again_at=again):
                    if again is None or again > give_up_at or question == _MOST_QUESTIONS:
                        break
                    await asyncio.sleep(max(0.0, (again - now()).total_seconds()))
        return ToolOutcome(OutcomeKind.OUTCOME_UNKNOWN, f"{what_happened} {text}")

    async def _ask(self, attempt: Attempt, ended_by: datetime, give_up_at: datetime) -> ToolOutcome | StillUnknown:
        limit = look_up_limit(self.tool) + max(give_up_at - now(), timedelta(0))
        try:
            async with asyncio.timeout(limit.total_seconds()):
                found = await self.tool.reconcile(
                    dispatch_of(self.context, attempt),
                    copy.deepcopy(self.arguments),
                    opened_at=attempt.opened_at,
                    ended_by=ended_by,
                    give_up_at=give_up_at,
                )
            if isinstance(found, ToolOutcome):
                return replace(storable_outcome(found), reconciled=True)
            return StillUnknown(storable_text(found.text), found.ask_again_at)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return StillUnknown(_NOT_KNOWN)
        except Exception as error:  # noqa: BLE001 - a question that cannot be asked leaves the outcome unknown
            logger.warning("Looking up %s of %s raised %s.", self.tool.name, self.context.step.id, type(error).__name__)
            return StillUnknown(_NOT_KNOWN)

    async def _close(self, attempt: Attempt, outcome: ToolOutcome) -> ToolOutcome:
        """Records the end. The run that made the request may have recorded it first, and it knows better."""
        row = await self.context.ledger.close(attempt, AttemptState.ENDED, outcome_to_json(outcome), now())
        if row.state is AttemptState.NOT_DONE:
            return self._not_done(_LOST_AFTER_IT, attempt.number)
        return outcome if row.outcome is None else outcome_from_json(row.outcome)

    def _not_done(self, text: str, attempts: int, delay: timedelta | None = None) -> ToolOutcome:
        wait = f" It may be asked for again after {round(delay.total_seconds())} s." if delay else ""
        return ToolOutcome(
            OutcomeKind.FAILED,
            f"The call of {self.tool.name} changed nothing after {attempts} attempt(s): {text}{wait}",
        )
