"""Slack's two Queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dexbridge.connectors import Attempt, BoundOperation, BranchTaken, Call, FailureKind, Retry, slack
from dexbridge.connectors.slack import ThreadMessages, ThreadReply
from dexbridge.connectors.testing import MemoryConnection
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import (
    Answer,
    AnswerLate,
    DropAfterPost,
    ErrorCode,
    Fault,
    OversizedAnswer,
    TruncatedAnswer,
    html,
    rate_limited,
    redirect,
)
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, SEEDED_THREAD

CallFor = Callable[[BoundOperation], Call]
IDS: dict[str, Any] = {"channel_id": SEEDED_CHANNEL, "thread_timestamp": SEEDED_THREAD}
REPLIES = "conversations.replies"


async def read(bound: BoundOperation, call_for: CallFor, **arguments: Any) -> Attempt:
    return await bound.dispatch(call_for(bound), bound.validate({**IDS, **arguments}))


async def test_a_thread_is_read_page_by_page_with_the_user_token(
    connection: slack.Connection, server: LocalSlack, call_for: CallFor
) -> None:
    for number in range(4):
        server.workspace.post(SEEDED_CHANNEL, f"reply {number}", thread_ts=SEEDED_THREAD)
    server.workspace.post(SEEDED_CHANNEL, "elsewhere")
    texts: list[str] = []
    cursor: str | None = None
    pages = 0
    while pages == 0 or cursor is not None:
        attempt = await read(connection.list_thread_messages(), call_for, cursor=cursor, page_size=2)
        assert isinstance(attempt, BranchTaken)
        assert attempt.branch == "read"
        assert isinstance(attempt.output, ThreadMessages)
        texts += [message.text for message in attempt.output.messages]
        cursor = attempt.output.next_cursor
        pages += 1
    assert texts == ["Where is order 1042?", "reply 0", "reply 1", "reply 2", "reply 3"]
    assert pages == 3
    assert {(request.token_kind, request.body["limit"]) for request in server.requests} == {("user", "2")}


async def test_one_reply_is_found_by_its_timestamp(
    connection: slack.Connection, server: LocalSlack, call_for: CallFor
) -> None:
    posts = [server.workspace.post(SEEDED_CHANNEL, text, thread_ts=SEEDED_THREAD) for text in ("a", "b", "c")]
    attempt = await read(connection.get_thread_reply(), call_for, reply_timestamp=posts[1].ts)
    assert isinstance(attempt, BranchTaken)
    assert attempt.branch == "found"
    assert isinstance(attempt.output, ThreadReply)
    assert attempt.output.message.model_dump() == {
        "channel_id": SEEDED_CHANNEL,
        "timestamp": posts[1].ts,
        "thread_timestamp": SEEDED_THREAD,
        "user_id": "U0CUSTOMER1",
        "bot": None,
        "text": "b",
    }
    assert len(server.requests) == 1


async def test_a_reply_or_thread_that_is_not_there_is_not_found(
    connection: slack.Connection, call_for: CallFor
) -> None:
    bound = connection.get_thread_reply()
    for changes in (
        {"reply_timestamp": "1710000001.000100"},
        {"thread_timestamp": "1710000009.000100", "reply_timestamp": "1710000010.000100"},
    ):
        attempt = await read(bound, call_for, **changes)
        assert isinstance(attempt, BranchTaken)
        assert attempt.branch == "notFound"
        assert attempt.failure is not None
        assert attempt.failure.kind is FailureKind.NOT_FOUND


OUTCOMES: list[tuple[str, Fault, str, FailureKind]] = [
    ("S10 HTML", html(), "invalidResponse", FailureKind.PROTOCOL),
    ("empty", Answer(200, ""), "invalidResponse", FailureKind.PROTOCOL),
    ("truncated", TruncatedAnswer(), "invalidResponse", FailureKind.PROTOCOL),
    ("no messages", Answer(200, '{"ok":true}'), "invalidResponse", FailureKind.PROTOCOL),
    ("odd messages", Answer(200, '{"ok":true,"messages":[1]}'), "invalidResponse", FailureKind.PROTOCOL),
    ("ts as a number", Answer(200, '{"ok":true,"messages":[{"ts":1.5}]}'), "invalidResponse", FailureKind.PROTOCOL),
    ("oversized", OversizedAnswer(100_000), "invalidResponse", FailureKind.RESPONSE_TOO_LARGE),
    ("redirect", redirect("/api/auth.test"), "invalidResponse", FailureKind.PROTOCOL),
    ("code", ErrorCode("missing_scope"), "providerRejected", FailureKind.AUTHORIZATION),
    ("unknown code", ErrorCode("weather_bad"), "providerRejected", FailureKind.PROVIDER_REJECTION),
    ("fatal_error", ErrorCode("fatal_error"), "retry", FailureKind.AVAILABILITY),
    ("HTTP 500", html(500), "retry", FailureKind.AVAILABILITY),
    ("rate limit", rate_limited("2"), "retry", FailureKind.RATE_LIMIT),
    ("dropped", DropAfterPost(), "retry", FailureKind.TRANSPORT),
    ("late", AnswerLate(0.8), "retry", FailureKind.TRANSPORT),
]


@pytest.mark.parametrize(("fault", "branch", "kind"), [row[1:] for row in OUTCOMES], ids=[row[0] for row in OUTCOMES])
async def test_a_read_that_fails_takes_its_branch_after_one_request(
    connection: slack.Connection,
    server: LocalSlack,
    call_for: CallFor,
    *,
    fault: Fault,
    branch: str,
    kind: FailureKind,
) -> None:
    for bound, more in (
        (connection.list_thread_messages(), {}),
        (connection.get_thread_reply(), {"reply_timestamp": "1710000001.000100"}),
    ):
        server.requests.clear()
        server.fail_next(REPLIES, fault)
        attempt = await read(bound, call_for, **more)
        found = attempt.branch if isinstance(attempt, BranchTaken) else "retry"
        assert isinstance(attempt, BranchTaken | Retry)
        assert (found, attempt.failure.kind if attempt.failure else None) == (branch, kind)
        assert [request.method for request in server.requests] == [REPLIES]


async def test_a_read_on_a_dropped_kept_connection_is_not_silently_repeated(
    connection: slack.Connection, server: LocalSlack, call_for: CallFor
) -> None:
    await read(connection.list_thread_messages(), call_for)
    server.fail_next(REPLIES, DropAfterPost())
    assert isinstance(await read(connection.list_thread_messages(), call_for), Retry)
    assert len(server.requests) == 2


async def test_reads_need_a_token(
    connection: slack.Connection, held: MemoryConnection, server: LocalSlack, call_for: CallFor
) -> None:
    held.set_credential("user_token", None)
    held.set_credential("bot_token", None)
    attempt = await read(connection.list_thread_messages(), call_for)
    assert isinstance(attempt, BranchTaken)
    assert attempt.branch == "defect"
    assert attempt.failure is not None
    assert attempt.failure.kind is FailureKind.AUTHENTICATION
    assert "has no user_token and no bot_token" in attempt.failure.message
    assert server.requests == []
