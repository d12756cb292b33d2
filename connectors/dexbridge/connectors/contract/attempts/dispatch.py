"""What a Connector author's functions are given: one Dispatch to send, one Inquiry to reconcile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from pydantic import BaseModel

from dexbridge.connectors.contract.attempts.attempt import BranchTaken, Retry, Uncertain
from dexbridge.connectors.contract.attempts.reconciliation import CannotTell
from dexbridge.connectors.contract.call import Call
from dexbridge.connectors.contract.errors import CredentialsUnavailable, SecondRequest
from dexbridge.connectors.contract.failure import Failure, FailureKind
from dexbridge.connectors.contract.operation import Operation
from dexbridge.connectors.contract.project import ConnectionReference
from dexbridge.connectors.contract.receipt import Receipt
from dexbridge.connectors.contract.secrets.secret import Secret
from dexbridge.connectors.http.pool import Leave

In = TypeVar("In", bound=BaseModel)


def _no_progress(message: str) -> None:
    del message


@dataclass(frozen=True)
class _Setting(Generic[In]):
    """What Dispatch and Inquiry share."""

    operation: Operation
    reference: ConnectionReference
    call: Call
    input: In
    credentials: Mapping[str, Secret]
    idempotency_key: str | None

    def credential(self, name: str) -> Secret:
        """The credential of that name, or else its stand-in, as it is at this moment.

        Raises:
            CredentialsUnavailable: the connection holds neither.
        """
        found = self.operation.held_for(name, self.credentials)
        if found is None:
            stand_in = self.operation.stand_ins.get(name)
            lacks = name if stand_in is None else f"{name} and no {stand_in}"
            raise CredentialsUnavailable(
                f"Connection {self.reference} has no {lacks}; add it to the connection file, as {self._purpose()} "
                "needs it.",
                told=f"The connection {self.reference} has no {lacks}, and {self._purpose()} needs it.",
            )
        return self.credentials[found]

    def _purpose(self) -> str:
        return self.operation.operation_id

    def receipt(
        self,
        object_id: str | None = None,
        *,
        request_id: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Receipt:
        """A receipt for this call, observed now."""
        return Receipt(
            call_id=self.call.call_id,
            idempotency_key=self.idempotency_key,
            provider=self.operation.connector_id,
            provider_object_id=object_id,
            provider_request_id=request_id,
            metadata=metadata or {},
        )

    def failure(self, kind: FailureKind, message: str) -> Failure:
        """A failure of this operation."""
        return Failure(kind, self.operation.connector_id, self.operation.operation_id, message)


@dataclass
class _Departure:
    left: bool = False


@dataclass(frozen=True)
class Dispatch(_Setting[In]):
    """One provider request to make: checked input, current credentials, and the leave to send once.

    A `send` function gives `leave` to HttpPool, or calls `about_to_send` itself right before the request's bytes
    leave; before that nothing counts as sent, after it a Mutation that stops without an answer is uncertain.
    """

    on_progress: Callable[[str], None] = _no_progress
    _departure: _Departure = field(default_factory=_Departure)

    @property
    def has_left(self) -> bool:
        """Whether the request may have left this process."""
        return self._departure.left

    @property
    def leave(self) -> Leave:
        """The leave to send, as HttpPool takes it."""
        return Leave(self.about_to_send, self.call.ensure_dispatchable)

    def about_to_send(self) -> None:
        """Takes the one leave to send; call it as the last thing before the bytes do leave.

        Raises:
            DispatchTooLate: `dispatch_before` has passed; nothing was sent.
            SecondRequest: this dispatch has sent already.
        """
        if self._departure.left:
            raise SecondRequest(f"{self.operation.operation_id} tried to send twice in one dispatch.")
        self.call.ensure_dispatchable()
        self._departure.left = True

    def report_progress(self, message: str) -> None:
        """Tells whoever listens how far the call is; best effort, it never disturbs the call."""
        with suppress(Exception):
            self.on_progress(message)

    def took(self, branch: str, output: BaseModel, receipt: Receipt | None = None) -> BranchTaken:
        """The attempt that took a branch with an output."""
        return BranchTaken(branch, output, receipt)

    def failed(self, branch: str, kind: FailureKind, message: str, receipt: Receipt | None = None) -> BranchTaken:
        """The attempt that took a failing branch; `message` is plain advice."""
        return BranchTaken(branch, None, receipt, self.failure(kind, message))

    def uncertain(self, kind: FailureKind, message: str) -> Uncertain:
        """The attempt whose request left without a conclusive answer."""
        return Uncertain(self.failure(kind, message))

    def retry(self, kind: FailureKind, message: str, delay: timedelta | None = None) -> Retry:
        """The attempt that provably did nothing."""
        return Retry(self.failure(kind, message), delay)


@dataclass(frozen=True)
class Inquiry(_Setting[In]):
    """One question to answer afterwards: was this call carried out?

    Args:
        opened_at: aware instant at which the attempt was written down; nothing was sent before.
        ended_by: aware instant from which the request cannot still be under way.
        give_up_at: aware instant until which the look may wait for a limit of the provider's to pass.
        is_early: absence proves nothing yet; another look will follow.
    """

    opened_at: datetime
    ended_by: datetime
    give_up_at: datetime
    is_early: bool = False

    async def wait_out(self, failed: CannotTell) -> bool:
        """Waits until a look that failed among its pages may go on there, instead of from its beginning.

        For a provider that lets an app read one page a minute. False, at once, when the fault does not pass, or not
        before `give_up_at`, or when this look is too early to conclude anything: then end it with what failed.
        """
        if failed.retry_at is None or failed.retry_at > self.give_up_at or self.is_early:
            return False
        await asyncio.sleep(max(0.0, (failed.retry_at - datetime.now(UTC)).total_seconds()))
        return True

    def _purpose(self) -> str:
        return f"looking up whether {self.operation.operation_id} was carried out"
