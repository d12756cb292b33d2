"""Call: who asks for one provider request, and until when it may leave."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from dexbridge.connectors.contract.call_id import derive_call_id
from dexbridge.connectors.contract.errors import DispatchTooLate, InvalidOperation

CONNECTOR_ID_PATTERN: Final = re.compile(r"[a-z][a-z0-9-]{1,62}")
OPERATION_ID_PATTERN: Final = re.compile(r"[a-z][A-Za-z0-9]+")


@dataclass(frozen=True)
class Call:
    """The identity of one dispatch. It carries no credential, so it may be stored and logged.

    Args:
        flow_id: the session's ID; never reused.
        step_execution_id: the Step execution that makes this call, such as `CallTool-3`.
        connector_id: as in the operation.
        operation_id: as in the operation.
        attempt: counted from 1; a retry inside the Step keeps the Call ID and counts on.
        dispatch_before: aware instant after which the request must not leave; None sets no limit.
        idempotency_key: a key stored for an earlier attempt; None lets the operation derive it.

    Raises:
        InvalidOperation: a blank or malformed ID, an attempt below 1, a naive instant.
    """

    flow_id: str
    step_execution_id: str
    connector_id: str
    operation_id: str
    attempt: int = 1
    dispatch_before: datetime | None = None
    idempotency_key: str | None = None
    # The same by a clock that is never set: a clock that is set back must not make a late request look early.
    _leave_by: float = field(init=False, repr=False, compare=False, default=math.inf)

    def __post_init__(self) -> None:
        for name, value in (("flow_id", self.flow_id), ("step_execution_id", self.step_execution_id)):
            if not value.strip():
                raise InvalidOperation(f"A Call needs a {name}: a provider call is made inside a Step of a session.")
        if not CONNECTOR_ID_PATTERN.fullmatch(self.connector_id):
            raise InvalidOperation(f"Connector ID {self.connector_id!r} must match {CONNECTOR_ID_PATTERN.pattern}.")
        if not OPERATION_ID_PATTERN.fullmatch(self.operation_id):
            raise InvalidOperation(f"Operation ID {self.operation_id!r} must match {OPERATION_ID_PATTERN.pattern}.")
        if self.attempt < 1:
            raise InvalidOperation(f"Attempts count from 1, not {self.attempt}.")
        if self.dispatch_before is not None and self.dispatch_before.utcoffset() is None:
            raise InvalidOperation("dispatch_before must carry a time zone; use datetime.now(UTC).")
        if self.dispatch_before is not None:
            left = self.dispatch_before - datetime.now(UTC)
            object.__setattr__(self, "_leave_by", time.monotonic() + left.total_seconds())

    @property
    def call_id(self) -> str:
        """The Call ID, the same for every attempt of this Step execution."""
        return derive_call_id(self.flow_id, self.step_execution_id, self.connector_id, self.operation_id)

    def ensure_dispatchable(self) -> None:
        """Checks that the request may still leave; call it as the last thing before its bytes do.

        Raises:
            DispatchTooLate: `dispatch_before` has passed; nothing was sent.
        """
        if self.dispatch_before is None:
            return
        late = max((datetime.now(UTC) - self.dispatch_before).total_seconds(), time.monotonic() - self._leave_by)
        if late > 0:
            raise DispatchTooLate(
                f"{self.connector_id} {self.operation_id}: the request was due to leave {late:.3f} s ago, so it was "
                "not sent."
            )
