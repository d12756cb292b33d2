"""Was it sent? Cases S3, S4, S5 and everything that makes the answer unknowable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    Call,
    CannotTell,
    FoundNotSent,
    FoundSent,
    Reconciliation,
    Uncertain,
    slack,
)
from dexbridge.connectors.slack import PostedMessage
from dexbridge.connectors.testing import MemoryConnection
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import (
    Answer,
    AnswerLate,
    DropAfterPost,
    DropWithoutPost,
    ErrorCode,
    Fault,
    OversizedAnswer,
    TruncatedAnswer,
    html,
    rate_limited,
    redirect,
)
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, SEEDED_THREAD

Reply = Callable[..., Awaitable[Attempt]]
Look = Callable[..., Awaitable[Reconciliation]]
CallFor = Callable[[BoundOperation], Call]


@pytest.mark.parametrize("fault", [DropAfterPost(), AnswerLate(0.8)], ids=["S3", "S5"])
async def test_s3_s5_a_lost_answer_is_found_by_its_call_id(
    reply: Reply, look_for_reply: Look, server: LocalSlack, fault: Fault
) -> None:
    server.workspace.post(SEEDED_CHANNEL, "another reply", thread_ts=SEEDED_THREAD)
    server.fail_next("chat.postMessage", fault)
    assert isinstance(await reply(), Uncertain)
    found = await look_for_reply()
    _, post = server.posts
    assert isinstance(found, FoundSent)
    assert found.branch == "sent"
    assert found.receipt.provider_object_id == post.ts
    assert isinstance(found.output, PostedMessage)
    assert (found.output.message.timestamp, found.output.message.thread_timestamp) == (post.ts, SEEDED_THREAD)
    assert [(r.method, r.token_kind) for r in server.requests] == [
        ("chat.postMessage", "bot"),
        ("conversations.replies", "user"),
    ]


async def test_s4_what_was_not_posted_is_said_and_not_sent_again(
    reply: Reply, look_for_reply: Look, server: LocalSlack
) -> None:
    server.fail_next("chat.postMessage", DropWithoutPost())
    assert isinstance(await reply(), Uncertain)
    found = await look_for_reply()
    assert isinstance(found, FoundNotSent)
    assert found.message == "The message is not in Slack: it was not sent, or was deleted since."
    assert [request.method for request in server.requests] == ["chat.postMessage", "conversations.replies"]
    assert server.posts == []


async def test_it_is_too_early_to_conclude_while_the_request_may_be_under_way(
    look_for_reply: Look, reply: Reply, server: LocalSlack
) -> None:
    early = await look_for_reply(ended_ago=2)
    assert isinstance(early, CannotTell)
    assert early.retry_at is not None
    server.fail_next("chat.postMessage", DropAfterPost())
    await reply()
    assert isinstance(await look_for_reply(ended_ago=-30), FoundSent)


async def test_a_channel_message_is_found_in_the_channel(
    connection: slack.Connection, server: LocalSlack, call_for: CallFor
) -> None:
    bound = connection.post_channel_message()
    arguments = bound.validate({"channel_id": SEEDED_CHANNEL, "text": "Hello"})
    opened_at = datetime.now(UTC) - timedelta(seconds=20)

    async def look() -> Reconciliation:
        return await bound.reconcile(
            call_for(bound), arguments, opened_at=opened_at, ended_by=datetime.now(UTC) - timedelta(seconds=10)
        )

    assert isinstance(await look(), FoundNotSent)
    server.fail_next("chat.postMessage", DropAfterPost())
    assert isinstance(await bound.dispatch(call_for(bound), arguments), Uncertain)
    assert isinstance(await look(), FoundSent)
    assert {r.method for r in server.requests} == {"chat.postMessage", "conversations.history"}


async def test_a_message_with_another_call_id_or_event_type_is_not_ours(
    look_for_reply: Look, server: LocalSlack, connection: slack.Connection, call_for: CallFor
) -> None:
    call_id = call_for(connection.post_thread_reply()).call_id
    for metadata in (
        {"event_type": "dexbridge_call", "event_payload": {"call_id": "another"}},
        {"event_type": "task_created", "event_payload": {"call_id": call_id}},
    ):
        server.workspace.post(SEEDED_CHANNEL, "On its way.", thread_ts=SEEDED_THREAD, metadata=metadata)
    server.workspace.post(SEEDED_CHANNEL, "Another text.", thread_ts=SEEDED_THREAD)
    assert isinstance(await look_for_reply(), FoundNotSent)


@pytest.mark.parametrize(
    ("text", "metadata"),
    [
        ("On its way.", None),
        ("<On its way.>", {}),
        ("Something else", {"event_type": "dexbridge_call"}),
        ("Something else", {"event_type": "dexbridge_call", "event_payload": None}),
    ],
)
async def test_a_message_whose_call_id_slack_does_not_show_leaves_the_outcome_unknown(
    look_for_reply: Look, server: LocalSlack, text: str, metadata: dict[str, Any] | None
) -> None:
    server.workspace.post(SEEDED_CHANNEL, text, thread_ts=SEEDED_THREAD, metadata=metadata)
    found = await look_for_reply()
    assert isinstance(found, CannotTell)
    assert "may be it" in found.message


async def test_several_pages_are_read_and_no_more_than_a_handful(
    look_for_reply: Look, reply: Reply, server: LocalSlack
) -> None:
    for number in range(40):
        server.workspace.post(SEEDED_CHANNEL, f"chatter {number}", thread_ts=SEEDED_THREAD)
    assert isinstance(await look_for_reply(), FoundNotSent)
    assert len(server.requests) == 3
    server.fail_next("chat.postMessage", DropAfterPost())
    await reply()
    assert isinstance(await look_for_reply(), FoundSent)
    for number in range(40):
        server.workspace.post(SEEDED_CHANNEL, f"more chatter {number}", thread_ts=SEEDED_THREAD)
    server.posts.pop(40)
    server.requests.clear()
    found = await look_for_reply()
    assert isinstance(found, CannotTell)
    assert found.retry_at is None
    assert len(server.requests) == 4


async def test_only_the_window_of_the_call_is_asked_for(look_for_reply: Look, server: LocalSlack) -> None:
    now = datetime.now(UTC).timestamp()
    await look_for_reply(opened_ago=100, ended_ago=50)
    (request,) = server.requests
    body: dict[str, Any] = dict(request.body)
    assert now - 165 < float(body["oldest"]) < now - 155
    assert now + 5 < float(body["latest"]) < now + 15
    assert (body["inclusive"], body["include_all_metadata"], body["limit"]) == ("true", "true", "15")


UNREADABLE: list[tuple[str, Fault]] = [
    ("rate limit", rate_limited("60")),
    ("no scope", ErrorCode("missing_scope")),
    ("no such channel", ErrorCode("channel_not_found")),
    ("fatal_error", ErrorCode("fatal_error")),
    ("HTTP 500", html(500)),
    ("HTML", html()),
    ("empty", Answer(200, "")),
    ("no messages", Answer(200, '{"ok":true}')),
    ("more without a cursor", Answer(200, '{"ok":true,"messages":[],"has_more":true}')),
    ("truncated", TruncatedAnswer()),
    ("oversized", OversizedAnswer(100_000)),
    ("redirect", redirect("/api/auth.test")),
    ("dropped", DropAfterPost()),
    ("late", AnswerLate(0.8)),
    (
        "clocks apart",
        Answer(
            200,
            '{"ok":true,"messages":[],"has_more":false}',
            headers={"Date": format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)},
        ),
    ),
]


@pytest.mark.parametrize("fault", [row[1] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE])
async def test_what_cannot_be_read_leaves_the_outcome_unknown(
    look_for_reply: Look, server: LocalSlack, fault: Fault
) -> None:
    server.fail_next("conversations.replies", fault)
    found = await look_for_reply()
    assert isinstance(found, CannotTell)
    assert not found.too_early
    assert "nothing was done" not in found.message
    assert len(server.requests) == 1


async def test_without_a_token_the_outcome_stays_unknown(
    look_for_reply: Look, held: MemoryConnection, server: LocalSlack
) -> None:
    held.set_credential("user_token", None)
    held.set_credential("bot_token", None)
    found = await look_for_reply()
    assert isinstance(found, CannotTell)
    assert "has no user_token and no bot_token" in found.message
    assert "looking up whether postThreadReply was carried out needs it" in found.message
    assert server.requests == []
