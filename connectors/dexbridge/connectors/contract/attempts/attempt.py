"""Attempt: how one dispatch ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from pydantic import BaseModel

from dexbridge.connectors.contract.failure import Failure
from dexbridge.connectors.contract.receipt import Receipt


@dataclass(frozen=True)
class BranchTaken:
    """The call is settled: it took one of the operation's branches."""

    branch: str
    output: BaseModel | None
    receipt: Receipt | None
    failure: Failure | None = None


@dataclass(frozen=True)
class Uncertain:
    """A Mutation whose request left, without a conclusive answer. Never send it again."""

    failure: Failure


@dataclass(frozen=True)
class Retry:
    """Proved: nothing was done, so the same call may be made again.

    `delay` is the provider's own wait, more than zero and at most one hour; None leaves it to the
    operation's retry policy.
    """

    failure: Failure
    delay: timedelta | None = None


Attempt: TypeAlias = BranchTaken | Uncertain | Retry
