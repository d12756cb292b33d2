"""Reconciliation: what a later look at the provider says about an uncertain Mutation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from pydantic import BaseModel

from dexbridge.connectors.contract.receipt import Receipt


@dataclass(frozen=True)
class FoundSent:
    """The call was carried out; `branch` is the branch it would have taken."""

    output: BaseModel
    receipt: Receipt
    branch: str = ""
    """Left empty by an author, filled with the operation's happy branch by the contract."""


@dataclass(frozen=True)
class FoundNotSent:
    """Everything that could hold the call was read, late enough, and it is not there.

    Where an object can be deleted, the message says that too: it was not sent, or was deleted since.
    """

    message: str


@dataclass(frozen=True)
class CannotTell:
    """The outcome stays unknown; the message is about the look, never about what was done.

    Args:
        message: why it cannot be told.
        retry_at: from when on another look may tell more; None when none will.
        too_early: all was read and the call is not there, but it may still be under way. Set by the contract.
    """

    message: str
    retry_at: datetime | None = None
    too_early: bool = False


LOOK_AGAIN_AFTER: Final = timedelta(seconds=5)
"""The wait before another look, when a provider failed without saying how long it will."""


def look_again(message: str, delay: timedelta | None = None) -> CannotTell:
    """The answer of a look that failed for a reason that passes, such as a rate limit or an HTTP 503."""
    return CannotTell(message, retry_at=datetime.now(UTC) + (delay or LOOK_AGAIN_AFTER))


Reconciliation: TypeAlias = FoundSent | FoundNotSent | CannotTell
