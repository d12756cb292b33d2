"""Makes the calls of a Connector and says in a few words what came of each."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    BranchTaken,
    Call,
    CannotTell,
    FoundNotSent,
    FoundSent,
    Reconciliation,
    Uncertain,
)

_numbers = itertools.count(1)


class Made:
    """One call: its attempt, and the look-up of it."""

    def __init__(self, operation: BoundOperation, call: Call, arguments: Mapping[str, Any]) -> None:
        self._operation = operation
        self._call = call
        self._arguments = arguments
        self._opened_at = datetime.now(UTC)
        self.attempt: Attempt | None = None

    async def send(self) -> Made:
        """Makes the call."""
        self.attempt = await self._operation.dispatch(self._call, self._arguments)
        return self

    async def look_up(self) -> Reconciliation:
        """Looks whether it was carried out."""
        return await self._operation.reconcile(
            self._call, self._arguments, opened_at=self._opened_at, ended_by=datetime.now(UTC)
        )

    @property
    def output(self) -> Any:
        """What the call gave; None when it failed."""
        return self.attempt.output if isinstance(self.attempt, BranchTaken) else None

    @property
    def outcome(self) -> str:
        """The branch, with the kind of its failure; or what else came of it."""
        attempt = self.attempt
        if isinstance(attempt, BranchTaken):
            return attempt.branch if attempt.failure is None else f"{attempt.branch}, {attempt.failure.kind}"
        if attempt is None:
            return "not sent"
        return f"{'uncertain' if isinstance(attempt, Uncertain) else 'retry'}, {attempt.failure.kind}"


def prepare(operation: BoundOperation, **arguments: Any) -> Made:
    """A call with checked arguments, not yet sent."""
    number = next(_numbers)
    connector, operation_id = operation.operation.connector_id, operation.operation.operation_id
    call = Call(f"others-{number}", f"Step-{number}", connector, operation_id)
    return Made(operation, call, operation.validate(arguments))


async def make(operation: BoundOperation, **arguments: Any) -> Made:
    """Makes one call."""
    return await prepare(operation, **arguments).send()


def told(found: Reconciliation) -> str:
    """What a look-up says, in two words."""
    return {FoundSent: "sent", FoundNotSent: "not sent", CannotTell: "cannot tell"}[type(found)]


def dump(output: object) -> Mapping[str, Any]:
    """An output as plain values; empty when there is none."""
    return output.model_dump() if isinstance(output, BaseModel) else {}
