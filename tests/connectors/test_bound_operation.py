"""A Connector author's plain code, made to fail closed."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    Branch,
    BranchOutcome,
    BranchTaken,
    Call,
    CannotTell,
    Dispatch,
    FailureKind,
    FoundNotSent,
    FoundSent,
    InvalidOperation,
    Mutation,
    OperationInput,
    OperationOutput,
    Query,
    Receipt,
    Reconciliation,
    Retry,
    Uncertain,
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


async def test_a_success_carries_output_and_receipt() -> None:
    attempt = await outcome(GRANT, grant)
    assert isinstance(attempt, BranchTaken)
    assert (attempt.branch, attempt.output, attempt.failure) == ("granted", Granted(note="1"), None)
    assert attempt.receipt is not None
    assert (attempt.receipt.call_id, attempt.receipt.provider_object_id) == (call(GRANT).call_id, "object-1")


async def test_only_the_credentials_an_operation_names_reach_it_and_they_are_read_at_each_dispatch() -> None:
    seen: list[dict[str, str]] = []

    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        seen.append({name: secret.reveal() for name, secret in dispatch.credentials.items()})
        return await grant(dispatch)

    connection = held()
    bound = bind_operation(GRANT, connection, Grant, send=send)
    await bound.dispatch(call(GRANT), {"amount": 1})
    connection.set_credential("token", "the-rotated-token")
    await bound.dispatch(call(GRANT, attempt=2), {"amount": 1})
    assert seen == [{"token": TOKEN}, {"token": "the-rotated-token"}]


@pytest.mark.parametrize("operation", [GRANT, LOOK], ids=["mutation", "query"])
async def test_an_exception_before_the_request_left_is_a_defect(operation: Mutation | Query) -> None:
    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        raise KeyError(dispatch.credential("token").reveal())

    assert is_defect(await outcome(operation, send))


async def test_an_exception_after_the_request_left_is_uncertain_for_a_write_and_a_defect_for_a_read() -> None:
    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        dispatch.about_to_send()
        raise KeyError("boom")

    assert isinstance(await outcome(GRANT, send), Uncertain)
    assert is_defect(await outcome(LOOK, send))


async def test_time_running_out_is_told_apart_by_whether_the_request_left() -> None:
    async def before(dispatch: Dispatch[Grant]) -> Attempt:
        await asyncio.Event().wait()
        return await grant(dispatch)

    async def after(dispatch: Dispatch[Grant]) -> Attempt:
        dispatch.about_to_send()
        await asyncio.Event().wait()
        return await grant(dispatch)

    assert isinstance(await outcome(GRANT, before), Retry)
    assert isinstance(await outcome(GRANT, after), Uncertain)
    assert isinstance(await outcome(LOOK, after), Retry)


async def test_one_dispatch_sends_once() -> None:
    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        dispatch.about_to_send()
        dispatch.about_to_send()
        raise AssertionError("unreachable")

    attempt = await outcome(GRANT, send)
    assert isinstance(attempt, Uncertain)
    assert "SecondRequest" in attempt.failure.message


async def test_a_late_dispatch_is_a_retry_and_nothing_leaves() -> None:
    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        attempt = await grant(dispatch)
        raise AssertionError(attempt)

    bound = bind_operation(GRANT, held(), Grant, send=send)
    late = call(GRANT, dispatch_before=datetime.now(UTC) - timedelta(seconds=1))
    attempt = await bound.dispatch(late, {"amount": 1})
    assert isinstance(attempt, Retry)
    assert "not sent" in attempt.failure.message


async def test_missing_and_unusable_credentials_are_authentication_failures_and_nothing_is_sent() -> None:
    reached: list[str] = []

    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        reached.append("sent")
        return await grant(dispatch)

    connection = held()
    connection.set_credential("token", None)
    missing = await outcome(GRANT, send, connection)
    assert is_defect(missing, FailureKind.AUTHENTICATION)
    assert isinstance(missing, BranchTaken)
    assert missing.failure is not None
    assert "mock-provider/main has no token" in missing.failure.message
    connection.unavailable = "Connection mock-provider/main has to be authorised again."
    unusable = await outcome(GRANT, send, connection)
    assert is_defect(unusable, FailureKind.AUTHENTICATION)
    assert reached == []


async def test_wrong_arguments_and_a_call_for_another_operation_are_refused_before_credentials_are_read() -> None:
    connection = held()
    bound = bind_operation(GRANT, connection, Grant, send=grant)
    wrong = await bound.dispatch(call(GRANT), {"amount": "1", "more": 2})
    assert is_defect(wrong, FailureKind.VALIDATION)
    assert is_defect(await bound.dispatch(call(LOOK), {"amount": 1}))
    assert connection.times_read == 0


@pytest.mark.parametrize(
    ("given", "derived", "expected"),
    [
        (None, None, call(GRANT).call_id),
        (None, "", call(GRANT).call_id),
        (None, "key-of-1", "key-of-1"),
        ("stored", "key-of-1", "stored"),
    ],
)
async def test_idempotency_keys(given: str | None, derived: str | None, expected: str) -> None:
    def derive(_call_id: str, _input: Grant) -> str:
        assert derived is not None
        return derived

    bound = bind_operation(GRANT, held(), Grant, send=grant, idempotency_key=None if derived is None else derive)
    attempt = await bound.dispatch(call(GRANT, idempotency_key=given), {"amount": 1})
    assert isinstance(attempt, BranchTaken)
    assert attempt.receipt is not None
    assert attempt.receipt.idempotency_key == expected


async def test_a_blank_or_failing_key_is_a_defect_before_credentials_are_read() -> None:
    def fail(_call_id: str, _input: Grant) -> str:
        raise ValueError("no key")

    def blank(_call_id: str, _input: Grant) -> str:
        return "  "

    for derive in (blank, fail):
        connection = held()
        bound = bind_operation(GRANT, connection, Grant, send=grant, idempotency_key=derive)
        assert is_defect(await bound.dispatch(call(GRANT), {"amount": 1}))
        assert connection.times_read == 0


def _receipt(call_id: str, *, provider: str = "mock-provider", key: str | None = None) -> Receipt:
    return Receipt(call_id, key if key is not None else call_id, provider)


BROKEN: dict[str, Callable[[Dispatch[Grant]], Any]] = {
    "unknown branch": lambda d: d.took("surprise", Granted(note=""), d.receipt()),
    "no output": lambda d: BranchTaken("granted", None, d.receipt()),
    "wrong output": lambda d: BranchTaken("granted", Grant(amount=1), d.receipt()),
    "receipt of another call": lambda d: d.took("granted", Granted(note=""), _receipt("another")),
    "receipt of another provider": lambda d: d.took(
        "granted", Granted(note=""), _receipt(d.call.call_id, provider="slack")
    ),
    "receipt with another key": lambda d: d.took("granted", Granted(note=""), _receipt(d.call.call_id, key="another")),
    "failing branch without failure": lambda d: BranchTaken("refused", None, None),
    "negative delay": lambda d: d.retry(FailureKind.RATE_LIMIT, "wait", timedelta(seconds=-1)),
    "endless delay": lambda d: d.retry(FailureKind.RATE_LIMIT, "wait", timedelta(hours=2)),
    "not an attempt": lambda d: {"ok": True},
    "nothing": lambda d: None,
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_attempt_fails_closed(name: str) -> None:
    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        dispatch.about_to_send()
        return BROKEN[name](dispatch)

    attempt = await outcome(GRANT, send)
    assert isinstance(attempt, Uncertain)
    assert attempt.failure.kind is FailureKind.LOCAL_DEFECT
    assert is_defect(await outcome(LOOK, send)) or name == "receipt with another key"


async def test_a_mutation_without_a_receipt_and_an_uncertain_query_are_broken() -> None:
    async def no_receipt(dispatch: Dispatch[Grant]) -> Attempt:
        dispatch.about_to_send()
        return dispatch.took("granted", Granted(note=""))

    async def unsure(dispatch: Dispatch[Grant]) -> Attempt:
        dispatch.about_to_send()
        return dispatch.uncertain(FailureKind.TRANSPORT, "no answer")

    assert isinstance(await outcome(GRANT, no_receipt), Uncertain)
    assert is_defect(await outcome(LOOK, unsure))


async def test_success_without_announcing_the_request_is_never_taken_as_not_sent() -> None:
    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        return dispatch.took("granted", Granted(note=""), dispatch.receipt())

    attempt = await outcome(GRANT, send)
    assert isinstance(attempt, Uncertain)
    assert "about_to_send" in attempt.failure.message


async def test_the_branch_uncertain_becomes_an_uncertain_attempt() -> None:
    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        dispatch.about_to_send()
        return dispatch.failed("uncertain", FailureKind.TRANSPORT, "no answer")

    assert isinstance(await outcome(GRANT, send), Uncertain)


async def test_progress_is_told_and_a_broken_listener_disturbs_nothing() -> None:
    heard: list[str] = []

    def listen(message: str) -> None:
        heard.append(message)
        raise RuntimeError("deaf")

    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        dispatch.report_progress("half way")
        return await grant(dispatch)

    bound = bind_operation(GRANT, held(), Grant, send=send)
    attempt = await bound.dispatch(call(GRANT), {"amount": 1}, progress=listen)
    assert isinstance(attempt, BranchTaken)
    assert (attempt.branch, heard) == ("granted", ["half way"])


async def test_a_cancelled_dispatch_raises_cancellation_without_the_frames_that_hold_the_token() -> None:
    began = asyncio.Event()

    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        revealed = dispatch.credential("token").reveal()
        began.set()
        await asyncio.Event().wait()
        raise AssertionError(revealed)

    bound = bind_operation(LOOK, held(), Grant, send=send)
    task = asyncio.create_task(bound.dispatch(call(LOOK), {"amount": 1}))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await task
    told = traceback.TracebackException.from_exception(cancelled.value, capture_locals=True)
    assert TOKEN not in "".join(told.format())
    assert task.cancelled()


async def test_a_cancellation_that_is_not_ours_is_judged_like_an_exception() -> None:
    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        dispatch.about_to_send()
        raise asyncio.CancelledError

    assert isinstance(await outcome(GRANT, send), Uncertain)
    assert is_defect(await outcome(LOOK, send))


async def test_an_author_cannot_leak_a_token_by_accident(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def raises(dispatch: Dispatch[Grant]) -> Attempt:
        token = dispatch.credential("token").reveal()
        dispatch.about_to_send()
        raise RuntimeError(f"Authorization: Bearer {token}")

    async def returns(dispatch: Dispatch[Grant]) -> Attempt:
        token = dispatch.credential("token").reveal()
        dispatch.about_to_send()
        return dispatch.took(
            "granted",
            Granted(note=f"granted to {token}"),
            dispatch.receipt(f"o-{token}", request_id=token, metadata={token: token}),
        )

    async def fails(dispatch: Dispatch[Grant]) -> Attempt:
        return dispatch.failed("refused", FailureKind.PROVIDER_REJECTION, dispatch.credential("token").reveal())

    found = [await outcome(GRANT, send) for send in (raises, returns, fails)]
    assert [type(attempt) for attempt in found] == [Uncertain, BranchTaken, BranchTaken]
    assert TOKEN not in repr(found)
    assert "granted to [redacted]" in repr(found)
    assert TOKEN not in caplog.text
    assert "RuntimeError after the request had been sent" in caplog.text


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
    receipt = _receipt(call(GRANT).call_id)

    async def found() -> Reconciliation:
        return FoundSent(Granted(note="x"), receipt)

    async def wrong() -> Reconciliation:
        return FoundSent(Granted(note="x"), _receipt("another"))

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
    connection.unavailable = "to be authorised again"
    for bound in (_bound_with(fail), _bound_with(nonsense), _bound_with(fail, connection)):
        found = await _ask(bound)
        assert isinstance(found, CannotTell)
        assert TOKEN not in repr(found)
    assert isinstance(await _ask(bind_operation(GRANT, held(), Grant, send=grant)), CannotTell)


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
