"""What becomes of a call, and of a look, after each kind of answer that is not a success."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dexbridge.connectors import (
    Attempt,
    Branch,
    BranchOutcome,
    BranchTaken,
    Call,
    Dispatch,
    FailureKind,
    Finding,
    HttpAnswer,
    Mutation,
    Operation,
    Proof,
    Query,
    Retry,
    Uncertain,
    bind_operation,
    judge,
    mutation_branches,
    query_branches,
    unread,
    unsuccessful,
)
from tests.connectors.mock_provider import Grant, Granted, held

DONE = Branch("granted", BranchOutcome.SUCCEEDED, "Granted.")


def operation(kind: type[Query] | type[Mutation], **more: Any) -> Operation:
    return kind(
        connector_id="mock-provider",
        operation_id="grantCredit",
        title="Grant credit",
        description="Grants a credit.",
        input=Grant,
        output=Granted,
        branches=(DONE, *(query_branches("Mock") if kind is Query else mutation_branches("Mock"))),
        credentials=("token",),
        **more,
    )


QUERY, MUTATION, SAFE = operation(Query), operation(Mutation), operation(Mutation, safe_to_retry=True)
LIMITED = HttpAnswer(429, {"retry-after": "7"}, b'{"error":"no"}')
REFUSED = HttpAnswer(422, {"x-request-id": "r-1"}, b'{"error":"no"}')
AWAY = HttpAnswer(503, {"retry-after": "9"}, b"")
NONSENSE = HttpAnswer(200, {}, b"<html>")
LARGE = HttpAnswer(200, {}, b"", "too large")


def no(answer: HttpAnswer, payload: Any) -> Finding | None:
    if answer.status == 429:
        return Finding(Proof.NOT_DONE_YET, FailureKind.RATE_LIMIT, "Slow down.", delay=answer.retry_after)
    if answer.status == 422 and payload == {"error": "no"}:
        return Finding(Proof.NOT_DONE_REFUSED, FailureKind.VALIDATION, "Give a positive amount.")
    return None


async def attempt_after(bound_to: Operation, answer: HttpAnswer) -> Attempt:
    async def send(dispatch: Dispatch[Grant]) -> Attempt:
        dispatch.about_to_send()
        return unsuccessful(dispatch, judge(answer, provider="Mock", rows=(no,)))

    bound = bind_operation(bound_to, held(), Grant, send=send)
    call = Call("session-1", "CallTool-1", "mock-provider", "grantCredit")
    return await bound.dispatch(call, {"amount": 1})


@pytest.mark.parametrize("bound_to", [QUERY, MUTATION, SAFE], ids=["query", "mutation", "safe to retry"])
async def test_what_every_operation_makes_of_a_limit_and_a_refusal(bound_to: Operation) -> None:
    limited = await attempt_after(bound_to, LIMITED)
    assert isinstance(limited, Retry)
    assert (limited.delay, limited.failure.kind) == (timedelta(seconds=7), FailureKind.RATE_LIMIT)
    refused = await attempt_after(bound_to, REFUSED)
    assert isinstance(refused, BranchTaken)
    assert refused.branch == "providerRejected"
    assert refused.failure is not None
    assert (refused.failure.kind, refused.failure.message) == (FailureKind.VALIDATION, "Give a positive amount.")
    assert refused.receipt is not None
    assert refused.receipt.provider_request_id == "r-1"


@pytest.mark.parametrize("answer", [AWAY, NONSENSE, LARGE], ids=["HTTP 503", "HTML", "too large"])
async def test_a_write_is_uncertain_after_whatever_proves_nothing(answer: HttpAnswer) -> None:
    assert isinstance(await attempt_after(MUTATION, answer), Uncertain)
    assert isinstance(await attempt_after(SAFE, answer), Retry)


async def test_a_query_is_made_again_or_cannot_be_understood() -> None:
    away = await attempt_after(QUERY, AWAY)
    assert isinstance(away, Retry)
    assert away.delay == timedelta(seconds=9)
    for answer, kind in ((NONSENSE, FailureKind.PROTOCOL), (LARGE, FailureKind.RESPONSE_TOO_LARGE)):
        odd = await attempt_after(QUERY, answer)
        assert isinstance(odd, BranchTaken)
        assert odd.branch == "invalidResponse"
        assert odd.failure is not None
        assert odd.failure.kind is kind


@pytest.mark.parametrize(
    ("answer", "wait"),
    [(LIMITED, 7), (AWAY, 9), (NONSENSE, 5), (REFUSED, None), (LARGE, None)],
    ids=["limit", "HTTP 503", "HTML", "refused", "too large"],
)
def test_a_look_that_read_nothing_says_whether_another_one_may(answer: HttpAnswer, wait: int | None) -> None:
    before = datetime.now(UTC)
    found = unread(judge(answer, provider="Mock", rows=(no,)), "The credits could not be read.")
    assert found.message.startswith("The credits could not be read. ")
    if wait is None:
        assert found.retry_at is None
    else:
        assert found.retry_at is not None
        assert timedelta(seconds=wait) <= found.retry_at - before < timedelta(seconds=wait + 2)
