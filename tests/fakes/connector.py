"""A small Connector whose calls end as a test says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    Branch,
    BranchOutcome,
    Dispatch,
    Inquiry,
    Mutation,
    OperationInput,
    OperationOutput,
    Query,
    Reconciliation,
    RetryPolicy,
    bind_operation,
)
from dexbridge.connectors.testing import MemoryConnection

__all__ = ["Item", "Letter", "bound_get", "bound_post", "post_operation"]


class Letter(OperationInput):
    to: str
    text: str


class Item(OperationOutput):
    id: str


_BRANCHES = (
    Branch("sent", BranchOutcome.SUCCEEDED, "Sent."),
    Branch("refused", BranchOutcome.FAILED, "Refused."),
    Branch("defect", BranchOutcome.FAILED, "Not sent."),
)

Send = Callable[[Dispatch[Letter]], Awaitable[Attempt]]


async def _sent(dispatch: Dispatch[Letter]) -> Attempt:
    dispatch.about_to_send()
    return dispatch.took("sent", Item(id="42"), dispatch.receipt("42"))


def post_operation(**changes: Any) -> Mutation:
    values: dict[str, Any] = {
        "connector_id": "mail",
        "operation_id": "postLetter",
        "title": "Post a letter",
        "description": "Posts a letter.",
        "input": Letter,
        "output": Item,
        "branches": (*_BRANCHES, Branch("uncertain", BranchOutcome.OUTCOME_UNKNOWN, "Unknown.")),
        "exposed_to_agents": True,
        "timeout": timedelta(seconds=0.5),
    }
    return Mutation(**{**values, **changes})


def bound_post(
    connection: str = "main",
    *,
    send: Send = _sent,
    reconcile: Callable[[Inquiry[Letter]], Awaitable[Reconciliation]] | None = None,
    **changes: Any,
) -> BoundOperation:
    operation = post_operation(can_reconcile=reconcile is not None, **changes)
    return bind_operation(
        operation,
        MemoryConnection("mail", connection),
        Letter,
        send=send,
        reconcile=reconcile,
        settling_time=timedelta(0),
    )


def bound_get(*, send: Send = _sent, attempts: int = 5, **retry: Any) -> BoundOperation:
    operation = Query(
        connector_id="mail",
        operation_id="getLetter",
        title="Get a letter",
        description="Gets a letter.",
        input=Letter,
        output=Item,
        branches=_BRANCHES,
        exposed_to_agents=True,
        retry=RetryPolicy(attempts=attempts, **retry),
        timeout=timedelta(seconds=0.5),
    )
    return bind_operation(operation, MemoryConnection("mail", "main"), Letter, send=send)
