"""A Connector author's plain code, made to fail closed: dispatching."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dexbridge.connectors import (
    Attempt,
    BranchTaken,
    CredentialsUnavailable,
    Dispatch,
    FailureKind,
    Mutation,
    Query,
    Retry,
    Uncertain,
    bind_operation,
    render_for_model,
)
from tests.connectors.mock_provider import (
    GRANT,
    LOOK,
    TOKEN,
    Grant,
    Granted,
    call,
    grant,
    held,
    is_defect,
    outcome,
    receipt_of,
)


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


async def test_the_operator_hears_how_to_mend_a_credential_and_the_model_that_it_needs_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection = held()
    connection.unavailable = "/run/secrets/token has mode 0644: chmod 0600 /run/secrets/token"
    bound = bind_operation(GRANT, connection, Grant, send=grant)
    told = render_for_model(GRANT, await bound.dispatch(call(GRANT), {"amount": 1}))
    assert told == (
        "Grant credit failed (defect): The credentials of mock-provider/main cannot be used. This is for whoever runs "
        "the agent, whose log says more; until then another call will not help."
    )
    assert "mock_provider_grant_credit on mock-provider/main" in caplog.text
    assert "chmod 0600 /run/secrets/token" in caplog.text
    connection.unavailable = None
    connection.set_credential("token", None)
    missing = render_for_model(GRANT, await bound.dispatch(call(GRANT), {"amount": 1}))
    assert "mock-provider/main has no token, and grantCredit needs it" in missing
    assert "connection file" not in missing
    assert "add it to the connection file" in caplog.text


async def test_what_a_connector_says_of_a_credential_holds_none(caplog: pytest.LogCaptureFixture) -> None:
    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        value = dispatch.credential("token").reveal()
        raise CredentialsUnavailable(f"{value} is no token", told=f"{value} is wrong")

    attempt = await outcome(GRANT, send)
    assert is_defect(attempt, FailureKind.AUTHENTICATION)
    assert TOKEN not in f"{attempt!r} {caplog.text}"


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


BROKEN: dict[str, Callable[[Dispatch[Grant]], Any]] = {
    "unknown branch": lambda d: d.took("surprise", Granted(note=""), d.receipt()),
    "no output": lambda d: BranchTaken("granted", None, d.receipt()),
    "wrong output": lambda d: BranchTaken("granted", Grant(amount=1), d.receipt()),
    "receipt of another call": lambda d: d.took("granted", Granted(note=""), receipt_of("another")),
    "receipt of another provider": lambda d: d.took(
        "granted", Granted(note=""), receipt_of(d.call.call_id, provider="slack")
    ),
    "receipt with another key": lambda d: d.took(
        "granted", Granted(note=""), receipt_of(d.call.call_id, key="another")
    ),
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
    assert is_defect(await outcome(LOOK, send))


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
