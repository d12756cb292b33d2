"""A made-up provider's operations, bound to plain functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from dexbridge.connectors import (
    Attempt,
    Branch,
    BranchOutcome,
    BranchTaken,
    Call,
    Dispatch,
    FailureKind,
    Mutation,
    OperationInput,
    OperationOutput,
    Query,
    Receipt,
    bind_operation,
)
from dexbridge.connectors.testing import MemoryConnection

TOKEN = "token-of-the-mock-provider"


class Grant(OperationInput):
    amount: int


class Granted(OperationOutput):
    note: str


BRANCHES = (
    Branch("granted", BranchOutcome.SUCCEEDED, "Granted."),
    Branch("refused", BranchOutcome.FAILED, "Refused."),
    Branch("defect", BranchOutcome.FAILED, "Not sent."),
)
GRANT = Mutation(
    connector_id="mock-provider",
    operation_id="grantCredit",
    title="Grant credit",
    description="Grants a credit.",
    input=Grant,
    output=Granted,
    branches=(*BRANCHES, Branch("uncertain", BranchOutcome.OUTCOME_UNKNOWN, "Unknown.")),
    credentials=("token",),
    timeout=timedelta(seconds=0.2),
)
LOOK = Query(
    connector_id="mock-provider",
    operation_id="getCredit",
    title="Get credit",
    description="Gets a credit.",
    input=Grant,
    output=Granted,
    branches=BRANCHES,
    credentials=("token",),
    timeout=timedelta(seconds=0.2),
)
GRANT_AND_TELL = Mutation(
    connector_id="mock-provider",
    operation_id="grantCredit",
    title="Grant credit",
    description="Grants a credit.",
    input=Grant,
    output=Granted,
    branches=GRANT.branches,
    credentials=("token",),
    can_reconcile=True,
)

Send = Callable[[Dispatch[Grant]], Awaitable[Attempt]]


def held() -> MemoryConnection:
    return MemoryConnection("mock-provider", "main", credentials={"token": TOKEN, "other": "not-needed-here"})


def call(operation: Mutation | Query, **changes: Any) -> Call:
    return Call("flow", "CallTool-1", "mock-provider", operation.operation_id, **changes)


async def outcome(operation: Mutation | Query, send: Send, connection: MemoryConnection | None = None) -> Attempt:
    bound = bind_operation(operation, connection or held(), Grant, send=send)
    return await bound.dispatch(call(operation), {"amount": 1})


def is_defect(attempt: Attempt, kind: FailureKind = FailureKind.LOCAL_DEFECT) -> bool:
    return (
        isinstance(attempt, BranchTaken)
        and attempt.branch == "defect"
        and attempt.output is None
        and attempt.failure is not None
        and attempt.failure.kind is kind
    )


async def grant(dispatch: Dispatch[Grant]) -> Attempt:
    dispatch.about_to_send()
    return dispatch.took("granted", Granted(note=f"{dispatch.input.amount}"), dispatch.receipt("object-1"))


def receipt_of(call_id: str, *, provider: str = "mock-provider", key: str | None = None) -> Receipt:
    return Receipt(call_id, key if key is not None else call_id, provider)
