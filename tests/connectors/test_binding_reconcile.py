"""A Connector author's plain code, made to fail closed: reconciling, and binding itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dexbridge.connectors import (
    BoundOperation,
    CannotTell,
    FoundNotSent,
    FoundSent,
    Inquiry,
    InvalidOperation,
    OperationInput,
    Reconciliation,
    bind_operation,
    look_again,
)
from dexbridge.connectors.testing import MemoryConnection
from tests.connectors.mock_provider import (
    GRANT,
    GRANT_AND_TELL,
    LOOK,
    TOKEN,
    Grant,
    Granted,
    call,
    grant,
    held,
    receipt_of,
)


def _bound_with(answer: Callable[[], Awaitable[Any]], connection: MemoryConnection | None = None) -> BoundOperation:
    async def reconcile(inquiry: object) -> Reconciliation:
        return await answer()

    return bind_operation(GRANT_AND_TELL, connection or held(), Grant, send=grant, reconcile=reconcile)


async def _ask(bound: BoundOperation, *, ended: timedelta = timedelta(minutes=-1)) -> Reconciliation:
    now = datetime.now(UTC)
    return await bound.reconcile(call(GRANT), {"amount": 1}, opened_at=now - timedelta(minutes=2), ended_by=now + ended)


async def test_not_sent_is_believed_only_after_the_request_ended_and_the_provider_settled() -> None:
    async def answer() -> Reconciliation:
        return FoundNotSent("not there")

    assert isinstance(await _ask(_bound_with(answer)), FoundNotSent)
    for ended in (timedelta(minutes=1), timedelta(seconds=-1)):
        early = await _ask(_bound_with(answer), ended=ended)
        assert isinstance(early, CannotTell)
        assert early.retry_at is not None
        assert early.retry_at > datetime.now(UTC)


async def test_a_find_gets_the_happy_branch_and_a_wrong_one_tells_nothing() -> None:
    receipt = receipt_of(call(GRANT).call_id)

    async def found() -> Reconciliation:
        return FoundSent(Granted(note="x"), receipt)

    async def wrong() -> Reconciliation:
        return FoundSent(Granted(note="x"), receipt_of("another"))

    assert await _ask(_bound_with(found), ended=timedelta(minutes=1)) == FoundSent(
        Granted(note="x"), receipt, "granted"
    )
    assert isinstance(await _ask(_bound_with(wrong)), CannotTell)


async def test_whatever_goes_wrong_while_looking_leaves_the_outcome_unknown() -> None:
    async def fail() -> Reconciliation:
        raise RuntimeError(TOKEN)

    async def nonsense() -> Any:
        return None

    connection = held()
    connection.unavailable = "/run/secrets/token has to be authorised again"
    for bound in (_bound_with(fail), _bound_with(nonsense), _bound_with(fail, connection)):
        found = await _ask(bound)
        assert isinstance(found, CannotTell)
        assert TOKEN not in repr(found)
        assert "/run/secrets" not in found.message
    assert isinstance(await _ask(bind_operation(GRANT, held(), Grant, send=grant)), CannotTell)


@pytest.mark.parametrize("patience", [None, 0.1, 2.0])
async def test_a_look_may_wait_among_its_pages_as_long_as_it_is_given_and_not_at_all_by_default(
    patience: float | None,
) -> None:
    limited = look_again("A limit.", timedelta(seconds=0.5))

    async def reconcile(inquiry: Inquiry[Grant]) -> Reconciliation:
        return FoundNotSent("All was read.") if await inquiry.wait_out(limited) else limited

    quick = replace(GRANT_AND_TELL, timeout=timedelta(seconds=0.2))
    bound = bind_operation(quick, held(), Grant, send=grant, reconcile=reconcile)
    now = datetime.now(UTC)
    found = await bound.reconcile(
        call(GRANT),
        {"amount": 1},
        opened_at=now - timedelta(minutes=2),
        ended_by=now - timedelta(minutes=1),
        give_up_at=None if patience is None else now + timedelta(seconds=patience),
    )
    assert isinstance(found, FoundNotSent) is (patience == 2.0)


def test_parts_that_do_not_fit_are_refused() -> None:
    async def reconcile(inquiry: object) -> Reconciliation:
        return CannotTell("")

    with pytest.raises(InvalidOperation, match="can_reconcile"):
        bind_operation(GRANT, held(), Grant, send=grant, reconcile=reconcile)
    with pytest.raises(InvalidOperation, match="can_reconcile"):
        bind_operation(GRANT_AND_TELL, held(), Grant, send=grant)
    with pytest.raises(InvalidOperation, match="subclass"):
        bind_operation(GRANT, held(), OperationInput, send=grant)  # type: ignore[arg-type]
    with pytest.raises(InvalidOperation, match="no idempotency key"):
        bind_operation(LOOK, held(), Grant, send=grant, idempotency_key=lambda _c, _i: "k")
