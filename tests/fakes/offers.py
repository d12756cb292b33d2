"""An operation that is offered, without an agent."""

from __future__ import annotations

from dataclasses import dataclass

from dexbridge.connectors import ConnectionReference, Operation


@dataclass(frozen=True)
class Offered:
    """One operation that is offered, as a tool of a source and as `--offer` names it."""

    operation: Operation
    reference: ConnectionReference

    @property
    def name(self) -> str:
        return self.operation.tool_name

    @property
    def bound(self) -> Offered:
        return self

    def tools(self) -> list[Offered]:
        return [self]
