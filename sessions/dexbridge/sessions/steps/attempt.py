"""One attempt of a tool Step: its identity, its bound in time, its outcome as JSON."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

from dexbridge.connectors import RetryPolicy
from dexbridge.sessions.hosting.ledger import Attempt, AttemptState
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.text import storable_json, storable_text
from dexbridge.sessions.steps.context import StepContext
from dexbridge.toolsource import (
    AgentTool,
    AttemptResult,
    Completed,
    Dispatch,
    NotDone,
    OutcomeKind,
    ToolOutcome,
    Unsettled,
)

__all__ = [
    "after_change",
    "dispatch_of",
    "look_up_limit",
    "make_attempt",
    "outcome_from_json",
    "outcome_to_json",
    "retry_policy",
    "storable_outcome",
    "time_limit",
]

logger = logging.getLogger(__name__)

_CONNECTOR_GRACE = timedelta(seconds=1)


def dispatch_of(context: StepContext, attempt: Attempt | None = None) -> Dispatch:
    """The identity of an attempt of this Step; without one, of the Step's call."""
    return Dispatch(
        flow_id=context.state.session_id,
        step_execution_id=context.step.id,
        attempt=1 if attempt is None else attempt.number,
        dispatch_before=None if attempt is None else attempt.dispatch_before,
    )


async def make_attempt(
    context: StepContext, tool: AgentTool, attempt: Attempt, arguments: Mapping[str, Any]
) -> AttemptResult:
    """Calls the tool once, or waits for its end when an earlier run of the Step in this process called it.

    What the tool raises, and a time-out, leave it open whether something was done.
    """
    dispatch = dispatch_of(context, attempt)
    return await context.ledger.make(attempt, lambda: _called(tool, dispatch, arguments))


async def _called(tool: AgentTool, dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
    if dispatch.dispatch_before is not None and now() > dispatch.dispatch_before:
        return NotDone("The Worker stood still before the call for too long, so it was not made.")
    timer = asyncio.timeout(time_limit(tool).total_seconds())
    try:
        async with timer:
            # A copy: what was approved and is recorded must not change under the tool's hands.
            result = await tool.attempt(dispatch, copy.deepcopy(dict(arguments)))
        return _storable(tool, result)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return Unsettled(f"{tool.name} was cancelled from inside.")
    except Exception as error:  # noqa: BLE001 - whatever a tool raises, a write may have been made before it
        if timer.expired():
            return Unsettled(f"{tool.name} did not end within {tool.timeout.total_seconds():g} s.")
        # The text of a foreign exception may hold anything, a credential included.
        logger.warning("%s raised %s in %s.", tool.name, type(error).__name__, dispatch.step_execution_id)
        return Unsettled(f"{tool.name} stopped with {type(error).__name__}.")


def time_limit(tool: AgentTool) -> timedelta:
    """How long the Step waits for one attempt; a Connector ends its own request first, and says how it ended."""
    return tool.timeout if tool.bound is None else tool.timeout + _CONNECTOR_GRACE


def look_up_limit(tool: AgentTool) -> timedelta:
    """How long the Step waits for one look afterwards."""
    return tool.timeout if tool.bound is None else tool.bound.operation.reconcile_timeout + _CONNECTOR_GRACE


def retry_policy(tool: AgentTool) -> RetryPolicy:
    """How long to wait between attempts, and for how long: the operation's own. A function's attempts do not count."""
    if tool.bound is not None:
        return tool.bound.operation.retry
    return RetryPolicy(within=RetryPolicy().within + tool.attempts * tool.timeout)


def after_change(tool: str, last: Attempt, not_made: ToolOutcome) -> ToolOutcome:
    """What to say of a dispatched call whose tool has changed since, so that it can be neither made nor looked up.

    Args:
        tool: The tool's name.
        last: The newest row of the ledger.
        not_made: What is true when the row proves that nothing was done.
    """
    if last.outcome is not None:
        return outcome_from_json(last.outcome)
    if last.state is AttemptState.NOT_DONE:
        return not_made
    return ToolOutcome(
        OutcomeKind.OUTCOME_UNKNOWN,
        f"The call of {tool} was under way when the Worker was lost, and the tool has changed since, so it cannot be "
        "looked up. It is not known whether it took effect. Do not repeat it.",
    )


def storable_outcome(outcome: ToolOutcome) -> ToolOutcome:
    """The outcome with text that can be stored; a receipt that is not JSON is dropped, not the outcome."""
    receipt = None if outcome.receipt is None else storable_json(outcome.receipt)
    return ToolOutcome(OutcomeKind(outcome.kind), storable_text(outcome.text), receipt, outcome.reconciled)


def _storable(tool: AgentTool, result: AttemptResult) -> AttemptResult:
    match cast("object", result):
        case Completed(outcome=ToolOutcome() as outcome):
            return Completed(storable_outcome(outcome))
        case NotDone(text=text, delay=delay):
            return NotDone(storable_text(text), delay)
        case Unsettled(text=text):
            return Unsettled(storable_text(text))
        case other:
            logger.error("%s returned %s, which is no result of an attempt.", tool.name, type(other).__name__)
            return Unsettled(f"{tool.name} returned {type(other).__name__}, which says nothing of what it did.")


def outcome_to_json(outcome: ToolOutcome) -> dict[str, Any]:
    """The outcome as the ledger keeps it."""
    return {
        "kind": outcome.kind.value,
        "text": outcome.text,
        "receipt": None if outcome.receipt is None else dict(outcome.receipt),
        "reconciled": outcome.reconciled,
    }


def outcome_from_json(stored: Mapping[str, Any]) -> ToolOutcome:
    """The outcome the ledger kept."""
    return ToolOutcome(OutcomeKind(stored["kind"]), stored["text"], stored["receipt"], bool(stored.get("reconciled")))
