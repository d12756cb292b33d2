"""One attempt of a tool Step: its identity, its bound in time, its outcome as JSON."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from dexbridge.sessions.ledger import Attempt
from dexbridge.sessions.steps.context import StepContext
from dexbridge.toolsource import AgentTool, AttemptResult, Dispatch, OutcomeKind, ToolOutcome, Unsettled

__all__ = ["dispatch_of", "make_attempt", "outcome_from_json", "outcome_to_json"]

logger = logging.getLogger(__name__)


def dispatch_of(context: StepContext, attempt: Attempt | None = None) -> Dispatch:
    """The identity of an attempt of this Step; without one, of the Step's call."""
    return Dispatch(
        flow_id=context.state.session_id,
        step_execution_id=context.step.id,
        attempt=1 if attempt is None else attempt.number,
        dispatch_before=None if attempt is None else attempt.dispatch_before,
    )


async def make_attempt(tool: AgentTool, dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
    """Calls the tool once. What it raises, and a time-out, leave it open whether something was done."""
    try:
        async with asyncio.timeout(tool.timeout.total_seconds()):
            return await tool.attempt(dispatch, arguments)
    except TimeoutError:
        return Unsettled(f"{tool.name} did not end within {tool.timeout.total_seconds():g} s.")
    except Exception as error:  # noqa: BLE001 - whatever a tool raises, a write may have been made before it
        # The text of a foreign exception may hold anything, a credential included.
        logger.warning("%s raised %s in %s.", tool.name, type(error).__name__, dispatch.step_execution_id)
        return Unsettled(f"{tool.name} stopped with {type(error).__name__}.")


def outcome_to_json(outcome: ToolOutcome) -> dict[str, Any]:
    """The outcome as the ledger keeps it."""
    return {
        "kind": outcome.kind.value,
        "text": outcome.text,
        "receipt": None if outcome.receipt is None else dict(outcome.receipt),
    }


def outcome_from_json(stored: Mapping[str, Any]) -> ToolOutcome:
    """The outcome the ledger kept."""
    return ToolOutcome(OutcomeKind(stored["kind"]), stored["text"], stored["receipt"])
