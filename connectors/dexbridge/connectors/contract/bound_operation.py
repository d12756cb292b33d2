"""BoundOperation: an operation on one connection, as others use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from dexbridge.connectors.contract.attempts.attempt import Attempt
from dexbridge.connectors.contract.attempts.reconciliation import Reconciliation
from dexbridge.connectors.contract.call import Call
from dexbridge.connectors.contract.operation import Operation
from dexbridge.connectors.contract.project import ConnectionReference
from dexbridge.connectors.contract.secrets.withheld import Withheld

Progress = Callable[[str], None]


class BoundOperation(Protocol):
    """An operation on one connection, as `connection.post_thread_reply()` returns it."""

    @property
    def operation(self) -> Operation:
        """The definition."""
        ...

    @property
    def reference(self) -> ConnectionReference:
        """The connection."""
        ...

    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, with the connection's own limits in it."""
        ...

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The canonical arguments; raises InvalidInput naming every fault."""
        ...

    async def withheld(self, arguments: Mapping[str, Any]) -> Withheld | None:
        """What a dispatch would refuse to send, because it holds a credential the connection has now; None when it
        holds none, or the credentials cannot be read. Raises nothing but cancellation.
        """
        ...

    async def dispatch(self, call: Call, arguments: Mapping[str, Any], *, progress: Progress | None = None) -> Attempt:
        """Makes at most one provider request. Raises nothing but cancellation."""
        ...

    async def reconcile(
        self,
        call: Call,
        arguments: Mapping[str, Any],
        *,
        opened_at: datetime,
        ended_by: datetime,
        give_up_at: datetime | None = None,
    ) -> Reconciliation:
        """Looks whether an uncertain call was carried out. Raises nothing but cancellation.

        Args:
            call: the call that was dispatched.
            arguments: its canonical arguments.
            opened_at: nothing was sent before.
            ended_by: the request cannot still be under way from then on.
            give_up_at: until then a look that reads several pages may wait for a limit of the provider's to pass; it
                ends within the operation's timeout after it. By default it waits for none.
        """
        ...
