"""What came of a call, in the words of the suite's sentences."""

from __future__ import annotations

from dexbridge.connectors.contract.attempts.attempt import Attempt, BranchTaken, Uncertain
from dexbridge.connectors.contract.attempts.reconciliation import FoundSent, Reconciliation


def short(attempt: Attempt) -> str:
    """How an attempt ended."""
    if isinstance(attempt, BranchTaken):
        return f"the branch {attempt.branch!r}"
    return "uncertain" if isinstance(attempt, Uncertain) else "a retry"


def shown(attempt: Attempt) -> str:
    """How an attempt ended, and what it says of it."""
    said = f' ("{attempt.failure.message}")' if attempt.failure is not None else ""
    return f"{short(attempt)}{said}"


def told(found: Reconciliation) -> str:
    """What `reconcile` said."""
    if isinstance(found, FoundSent):
        return f"FoundSent (object {found.receipt.provider_object_id})"
    return f'{type(found).__name__} ("{found.message}")'
