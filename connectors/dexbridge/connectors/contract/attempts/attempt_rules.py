"""What makes an author's attempt valid."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from dexbridge.connectors.contract.attempts.attempt import BranchTaken, Retry, Uncertain
from dexbridge.connectors.contract.attempts.dispatch import Dispatch
from dexbridge.connectors.contract.operation import BranchOutcome, OperationKind
from dexbridge.connectors.contract.receipt import Receipt
from dexbridge.connectors.http.retry_after import LONGEST_DELAY


def fault_of(dispatch: Dispatch[Any], attempt: object) -> str | None:
    """The first rule of the contract an attempt breaks, as a sentence; None when it is valid."""
    is_mutation = dispatch.operation.kind is OperationKind.MUTATION
    if isinstance(attempt, Retry):
        return _retry_fault(attempt)
    if isinstance(attempt, Uncertain):
        return None if is_mutation else "a Query cannot be uncertain."
    if isinstance(attempt, BranchTaken):
        return _branch_fault(dispatch, attempt)
    return f"its send function returned a {type(attempt).__name__} instead of an attempt."


def _retry_fault(attempt: Retry) -> str | None:
    if attempt.delay is not None and not timedelta(0) < attempt.delay <= LONGEST_DELAY:
        return "a retry's delay must be more than zero and at most one hour."
    return None


def _branch_fault(dispatch: Dispatch[Any], attempt: BranchTaken) -> str | None:
    operation = dispatch.operation
    branch = next((b for b in operation.branches if b.id == attempt.branch), None)
    if branch is None:
        return f"it took the branch {attempt.branch!r}, which it does not declare."
    if attempt.receipt is not None:
        fault = _receipt_fault(dispatch, attempt.receipt)
        if fault is not None:
            return fault
    if branch.outcome is not BranchOutcome.SUCCEEDED:
        return None if attempt.failure is not None else f"the branch {branch.id!r} came without a failure."
    return _success_fault(dispatch, attempt)


def _success_fault(dispatch: Dispatch[Any], attempt: BranchTaken) -> str | None:
    operation = dispatch.operation
    if not dispatch.has_left:
        return "it reported success without announcing its request (about_to_send)."
    if not isinstance(attempt.output, operation.output):
        return f"the branch {attempt.branch!r} came without a {operation.output.__name__}."
    if attempt.receipt is None and operation.kind is OperationKind.MUTATION:
        return f"the branch {attempt.branch!r} came without a receipt."
    return None


def _receipt_fault(dispatch: Dispatch[Any], receipt: Receipt) -> str | None:
    expected = (dispatch.call.call_id, dispatch.idempotency_key, dispatch.operation.connector_id)
    if (receipt.call_id, receipt.idempotency_key, receipt.provider) != expected:
        return "its receipt belongs to another call."
    return None
