"""A function of a test as an agent tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from dexbridge.connectors import BoundOperation
from dexbridge.toolsource import (
    ApprovalRule,
    AttemptResult,
    Completed,
    Dispatch,
    OutcomeKind,
    Reconciled,
    StillUnknown,
    ToolEffect,
    ToolOutcome,
    asks_for_approval,
    check_arguments,
)

__all__ = ["FunctionTool", "failed", "succeeded"]

Function = Callable[[Dispatch, Mapping[str, Any]], Awaitable[AttemptResult]]
LookUp = Callable[[Dispatch, Mapping[str, Any], datetime, datetime], Awaitable[Reconciled]]

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "note": {}},
    "required": ["order_id"],
}


def succeeded(text: str) -> Completed:
    return Completed(ToolOutcome(OutcomeKind.SUCCEEDED, text))


def failed(text: str) -> Completed:
    return Completed(ToolOutcome(OutcomeKind.FAILED, text))


async def _done(_dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
    return succeeded(f"done with {arguments['order_id']}")


async def _cannot_tell(*_: object) -> Reconciled:
    return StillUnknown("Nobody can tell.")


@dataclass
class FunctionTool:
    """Records every attempt and every question."""

    name: str = "cancel_order"
    effect: ToolEffect = ToolEffect.NON_IDEMPOTENT_WRITE
    rule: ApprovalRule = False
    function: Function = _done
    look_up: LookUp = _cannot_tell
    attempts: int = 3
    timeout: timedelta = timedelta(seconds=20)
    input_schema: Mapping[str, Any] = field(default_factory=lambda: SCHEMA)
    description: str = "Cancels an order."
    bound: BoundOperation | None = None
    dispatches: list[Dispatch] = field(default_factory=list[Dispatch])
    questions: list[tuple[datetime, datetime]] = field(default_factory=list[tuple[datetime, datetime]])
    given_up: list[datetime | None] = field(default_factory=list[datetime | None])

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return check_arguments(self.name, self.input_schema, arguments)

    def asks(self, arguments: Mapping[str, Any]) -> bool:
        return asks_for_approval(self.name, self.rule, arguments)

    def call_id(self, dispatch: Dispatch) -> str | None:
        return None

    async def attempt(self, dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
        self.dispatches.append(dispatch)
        return await self.function(dispatch, arguments)

    async def reconcile(
        self,
        dispatch: Dispatch,
        arguments: Mapping[str, Any],
        *,
        opened_at: datetime,
        ended_by: datetime,
        give_up_at: datetime | None = None,
    ) -> Reconciled:
        self.questions.append((opened_at, ended_by))
        self.given_up.append(give_up_at)
        return await self.look_up(dispatch, arguments, opened_at, ended_by)
