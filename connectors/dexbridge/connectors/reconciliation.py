"""Reconciliation: what a later look at the provider says about an uncertain Mutation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from pydantic import BaseModel

from dexbridge.connectors.receipt import Receipt


@dataclass(frozen=True)
class FoundSent:
    """The call was carried out; `branch` is the branch it would have taken."""

    output: BaseModel
    receipt: Receipt
    branch: str = ""
    """Left empty by an author, filled with the operation's happy branch by the contract."""


@dataclass(frozen=True)
class FoundNotSent:
    """Everything that could hold the call was read, late enough, and it is not there."""

    message: str


@dataclass(frozen=True)
class CannotTell:
    """The outcome stays unknown. `retry_at` is set when it is only too early to conclude "not sent"."""

    message: str
    retry_at: datetime | None = None


Reconciliation: TypeAlias = FoundSent | FoundNotSent | CannotTell
