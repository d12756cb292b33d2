"""Call IDs against the published vectors, and what a Call refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dexbridge.connectors import Call, DispatchTooLate, InvalidOperation, derive_call_id

VECTORS = [
    ("customer/42", "step-execution-1", "mock-provider", "getProfile", "8fe78557-483c-5b53-ace7-7d6a13eb30db"),
    ("customer/42", "step-execution-1", "mock-provider", "grantCredit", "7fd8bd77-4ff3-54e2-8f4b-ebb849af1888"),
    ("customer/42", "step-execution-2", "mock-provider", "getProfile", "ed61ca47-f53e-59d0-9a51-f48954acd866"),
    ("a", "bc", "mock-provider", "getProfile", "2f8d11dc-4bec-5d18-9f35-620c7a468fc1"),
    ("ab", "c", "mock-provider", "getProfile", "67b6dc08-43d8-52aa-b01d-7f7b58abb06a"),
    ("flow-é/✓", "CallTool-1", "slack", "postChannelMessage", "8650a5ed-cc63-57fe-9718-840a00f5bd35"),
]


@pytest.mark.parametrize(("flow", "step", "connector", "operation", "expected"), VECTORS)
def test_call_ids_match_the_published_vectors(
    flow: str, step: str, connector: str, operation: str, expected: str
) -> None:
    assert derive_call_id(flow, step, connector, operation) == expected
    assert Call(flow, step, connector, operation).call_id == expected


def test_attempt_deadline_and_key_do_not_change_the_call_id() -> None:
    call = Call("f", "s-1", "slack", "postThreadReply")
    later = Call("f", "s-1", "slack", "postThreadReply", 3, datetime.now(UTC) + timedelta(seconds=5), "another-key")
    assert later.call_id == call.call_id


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        (("", "s", "slack", "postThreadReply"), "flow_id"),
        (("f", " ", "slack", "postThreadReply"), "step_execution_id"),
        (("f", "s", "Slack", "postThreadReply"), "'Slack'"),
        (("f", "s", "s", "postThreadReply"), "'s'"),
        (("f", "s", "slack\n", "postThreadReply"), "slack"),
        (("f", "s", "slack", "post_thread_reply"), "'post_thread_reply'"),
    ],
)
def test_a_call_outside_a_step_or_with_a_wrong_id_is_refused(fields: tuple[str, str, str, str], names: str) -> None:
    with pytest.raises(InvalidOperation, match=names):
        Call(*fields)


def test_attempts_count_from_one() -> None:
    with pytest.raises(InvalidOperation, match="count from 1"):
        Call("f", "s", "slack", "postThreadReply", attempt=0)


def test_a_deadline_needs_a_time_zone() -> None:
    with pytest.raises(InvalidOperation, match="time zone"):
        Call("f", "s", "slack", "postThreadReply", dispatch_before=datetime(2026, 1, 1))


def test_a_call_may_leave_before_its_deadline_and_not_after() -> None:
    now = datetime.now(UTC)
    Call("f", "s", "slack", "postThreadReply").ensure_dispatchable()
    Call("f", "s", "slack", "postThreadReply", dispatch_before=now + timedelta(minutes=1)).ensure_dispatchable()
    with pytest.raises(DispatchTooLate, match="not sent"):
        Call("f", "s", "slack", "postThreadReply", dispatch_before=now - timedelta(seconds=1)).ensure_dispatchable()
