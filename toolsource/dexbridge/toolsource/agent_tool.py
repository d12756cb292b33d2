"""The one abstraction of this room: a tool an agent is offered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from dexbridge.connectors import BoundOperation
from dexbridge.toolsource.effect import ToolEffect
from dexbridge.toolsource.outcome import AttemptResult, Dispatch, Reconciled

__all__ = ["AgentTool"]


class AgentTool(Protocol):
    """A tool as sessions run it: a Connector operation, or a function of the application."""

    @property
    def name(self) -> str:
        """The tool's own name; policies, approvals and records use it."""
        ...

    @property
    def description(self) -> str:
        """What the model reads."""
        ...

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """A JSON Schema of one object, without `$ref`."""
        ...

    @property
    def effect(self) -> ToolEffect:
        """Decides the Step a call runs in."""
        ...

    @property
    def bound(self) -> BoundOperation | None:
        """The Connector operation behind the tool; `None` for a function of the application."""
        ...

    @property
    def attempts(self) -> int:
        """How many attempts one Step may make when the earlier ones proved that nothing was done."""
        ...

    @property
    def timeout(self) -> timedelta:
        """How long one attempt may take."""
        ...

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the canonical arguments; raises `InvalidArguments` with every fault."""
        ...

    def asks(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call with these validated arguments waits for a person."""
        ...

    def call_id(self, dispatch: Dispatch) -> str | None:
        """The Call ID of a Connector call; `None` for a function of the application."""
        ...

    async def attempt(self, dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
        """Makes at most one request at a provider, or one call of a function."""
        ...

    async def reconcile(
        self,
        dispatch: Dispatch,
        arguments: Mapping[str, Any],
        *,
        opened_at: datetime,
        ended_by: datetime,
        give_up_at: datetime | None = None,
    ) -> Reconciled:
        """Finds out what became of an attempt nobody saw the end of; see `BoundOperation.reconcile`."""
        ...
