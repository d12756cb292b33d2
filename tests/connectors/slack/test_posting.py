"""Every row of "Outcome of a write" (slack.md), against a real HTTP server. Cases S3 to S13."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    BranchTaken,
    Call,
    FailureKind,
    Retry,
    Uncertain,
    render_for_model,
    slack,
)
from dexbridge.connectors.slack import PostedMessage
from dexbridge.connectors.slack.operations import POST_THREAD_REPLY
from dexbridge.connectors.testing import MemoryConnection
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import (
    Answer,
    AnswerLate,
    DropAfterPost,
    DropBeforeRead,
    DropWithoutPost,
    ErrorCode,
    Fault,
    OversizedAnswer,
    TruncatedAnswer,
    WithoutTimestamp,
    html,
    rate_limited,
    redirect,
)

Reply = Callable[..., Awaitable[Attempt]]
CallFor = Callable[[BoundOperation], Call]
POST = "chat.postMessage"


async def test_a_reply_is_posted_in_its_thread_with_a_receipt(
    reply: Reply, server: LocalSlack, connection: slack.Connection, call_for: CallFor
) -> None:
    attempt = await reply()
    (post,) = server.posts
    call = call_for(connection.post_thread_reply())
    assert isinstance(attempt, BranchTaken)
    assert attempt.branch == "sent"
    assert isinstance(attempt.output, PostedMessage)
    assert attempt.output.model_dump() == {
        "message": {
            "channel_id": "C0123456789",
            "timestamp": post.ts,
            "thread_timestamp": "1710000000.000100",
            "user_id": "U0BOT00001",
            "bot": "B0BOT00001",
            "text": "On its way.",
        },
        "note": None,
    }
    assert attempt.receipt is not None
    assert (attempt.receipt.call_id, attempt.receipt.idempotency_key) == (call.call_id, call.call_id)
    assert (attempt.receipt.provider, attempt.receipt.provider_object_id) == ("slack", post.ts)
    assert attempt.receipt.provider_request_id == "00000000000000000000000000000001"
    assert (post.thread_ts, post.text) == ("1710000000.000100", "On its way.")
    assert post.metadata == {"event_type": "dexbridge_call", "event_payload": {"call_id": call.call_id}}
    assert post.request["client_msg_id"] == call.call_id
    assert (post.request["unfurl_links"], post.request["unfurl_media"]) == (False, False)
    assert [(request.method, request.token_kind) for request in server.requests] == [(POST, "bot")]


async def test_a_channel_message_is_posted_outside_of_threads(
    connection: slack.Connection, server: LocalSlack, call_for: CallFor
) -> None:
    bound = connection.post_channel_message()
    attempt = await bound.dispatch(
        call_for(bound), {"channel_id": "C0123456789", "text": "Hello", "unfurl_links": True}
    )
    assert isinstance(attempt, BranchTaken)
    assert attempt.branch == "sent"
    (post,) = server.posts
    assert (post.channel, post.thread_ts, post.text) == ("C0123456789", None, "Hello")
    assert (post.request["unfurl_links"], post.request["unfurl_media"]) == (True, True)


async def test_s6_four_thousand_characters_are_one_message(reply: Reply, server: LocalSlack) -> None:
    await reply(text="x" * 4_000)
    assert [len(post.text) for post in server.posts] == [4_000]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("if a < b && b > c:", "if a &lt; b &amp;&amp; b &gt; c:"),
        ("<!channel> and <@U012AB3CD>", "&lt;!channel&gt; and &lt;@U012AB3CD&gt;"),
        ("*bold* `code` \"quoted\" é ✓ 'x'", "*bold* `code` \"quoted\" é ✓ 'x'"),
        ("&lt;", "&amp;lt;"),
    ],
)
async def test_s7_text_arrives_readable_and_pings_nobody(
    reply: Reply, server: LocalSlack, text: str, stored: str
) -> None:
    attempt = await reply(text=text)
    assert [post.text for post in server.posts] == [stored]
    assert isinstance(attempt, BranchTaken)
    assert isinstance(attempt.output, PostedMessage)
    assert attempt.output.message.text == text


async def test_s7_mrkdwn_is_sent_as_it_is_when_asked(reply: Reply, server: LocalSlack) -> None:
    await reply(text="Hello <@U012AB3CD>", raw_mrkdwn=True)
    assert [post.text for post in server.posts] == ["Hello <@U012AB3CD>"]


POSTED = '{"ok":true,"ts":"1710000000.000200","channel":"C0123456789"}'


def refused(code: str) -> str:
    """A refusal that nevertheless names the message it is about."""
    return f'{{"ok":false,"error":"{code}","ts":"1710000000.000200","channel":"C0123456789"}}'


UNCLEAR: list[tuple[str, Fault, int]] = [
    ("S3 posted, then dropped", DropAfterPost(), 1),
    ("S4 dropped, nothing posted", DropWithoutPost(), 0),
    ("dropped before the body was read", DropBeforeRead(), 0),
    ("S5 posted, answered after the timeout", AnswerLate(0.8), 1),
    ("S8 fatal_error", ErrorCode("fatal_error"), 0),
    ("S8 fatal_error, posted", ErrorCode("fatal_error", posted=True), 1),
    ("internal_error", ErrorCode("internal_error", posted=True), 1),
    ("request_timeout", ErrorCode("request_timeout"), 0),
    ("service_unavailable", ErrorCode("service_unavailable"), 0),
    ("HTTP 500", Answer(500, "", posted=True), 1),
    ("HTTP 502 with HTML", html(502), 0),
    ("HTTP 503 that says not_in_channel", Answer(503, '{"ok":false,"error":"not_in_channel"}'), 0),
    ("HTTP 500 that says ok", Answer(500, '{"ok":true,"ts":"1710000000.000200","channel":"C01"}', posted=True), 1),
    ("HTTP 429 that says ok", Answer(429, POSTED, posted=True), 1),
    ("HTTP 429 that says ok, with a delay", Answer(429, POSTED, headers={"Retry-After": "1"}, posted=True), 1),
    ("HTTP 429 that says ok, without ts", Answer(429, '{"ok": true}', posted=True), 1),
    ("HTTP 429 that says ok as a text", Answer(429, '{"ok":"true"}', posted=True), 1),
    ("HTTP 429 with half an ok", Answer(429, POSTED[:30], posted=True), 1),
    ("HTTP 429 with a list of ok", Answer(429, f"[{POSTED}]", posted=True), 1),
    ("HTTP 429 that says ok and not ok", Answer(429, '{"ok":true,"ok":false}', posted=True), 1),
    ("HTTP 429 that names a message", Answer(429, '{"ok":false,"ts":"1710000000.000200"}', posted=True), 1),
    ("HTTP 429, oversized", Answer(429, "x" * 100_000, posted=True), 1),
    ("HTTP 400 that says ok", Answer(400, POSTED, posted=True), 1),
    ("HTTP 403 that says ok", Answer(403, POSTED, posted=True), 1),
    ("HTTP 404 that says ok", Answer(404, POSTED, posted=True), 1),
    ("HTTP 201 that says ok", Answer(201, POSTED, posted=True), 1),
    ("ratelimited that names a message", Answer(200, refused("ratelimited"), posted=True), 1),
    ("not_in_channel that names a message", Answer(200, refused("not_in_channel"), posted=True), 1),
    ("HTTP 403 not_in_channel that names a message", Answer(403, refused("not_in_channel"), posted=True), 1),
    ("ok, then not_in_channel", Answer(200, '{"ok":true,"ok":false,"error":"not_in_channel"}', posted=True), 1),
    ("S10 HTML", html(posted=True), 1),
    ("HTTP 403 with HTML", html(403), 0),
    ("empty body", Answer(200, "", posted=True), 1),
    ("HTTP 204", Answer(204, "", posted=True), 1),
    ("not ok, then ok", Answer(200, '{"ok":false,"error":"not_in_channel","ok":true,"ts":"1710000000.000200"}'), 0),
    ("ok twice", Answer(200, POSTED.replace("{", '{"ok":false,', 1), posted=True), 1),
    ("a key twice deep inside", Answer(200, POSTED[:-1] + ',"message":{"ts":"1","ts":"2"}}', posted=True), 1),
    ("not_in_channel, its code twice", Answer(200, '{"ok":false,"error":"a","error":"not_in_channel"}'), 0),
    ("HTTP 429, escaped ok twice", Answer(429, '{"\\u006fk":true,"ok":false}', posted=True), 1),
    ("UTF-16", Answer(200, POSTED, charset="utf-16", posted=True), 1),
    ("not_in_channel in UTF-16", Answer(200, '{"ok":false,"error":"not_in_channel"}', charset="utf-16"), 0),
    ("HTTP 429 in UTF-16 that says ok", Answer(429, POSTED, charset="utf-16-le", posted=True), 1),
    ("truncated", TruncatedAnswer(), 1),
    ("truncated JSON, complete HTTP", Answer(200, '{"ok":true,"ts":"17100', posted=True), 1),
    ("a JSON list", Answer(200, "[]", posted=True), 1),
    ("a JSON string of ok", Answer(200, '{"ok":"true"}', posted=True), 1),
    ("not ok without a code", Answer(200, '{"ok":false}'), 0),
    ("not ok with a sentence", Answer(200, '{"ok":false,"error":"the token is xoxb-1"}'), 0),
    ("S11 without ts", WithoutTimestamp(), 1),
    ("ts as a number", Answer(200, '{"ok":true,"ts":1710000000.0001,"channel":"C01"}', posted=True), 1),
    ("without channel", Answer(200, '{"ok":true,"ts":"1710000000.000200"}', posted=True), 1),
    ("oversized", OversizedAnswer(100_000), 1),
    ("redirect", redirect("/api/auth.test"), 0),
    ("redirect that posted", redirect("/api/chat.postMessage", posted=True), 1),
    ("nested too deep", Answer(200, "[" * 30_000, posted=True), 1),
]


@pytest.mark.parametrize(("fault", "posted"), [row[1:] for row in UNCLEAR], ids=[row[0] for row in UNCLEAR])
async def test_an_unclear_answer_is_uncertain_and_one_request_was_made(
    reply: Reply, server: LocalSlack, fault: Fault, posted: int
) -> None:
    server.fail_next(POST, fault)
    attempt = await reply()
    assert isinstance(attempt, Uncertain), attempt
    assert [request.method for request in server.requests] == [POST]
    assert len(server.posts) == posted
    text = render_for_model(POST_THREAD_REPLY, attempt)
    assert "outcome is unknown" in text
    assert "xoxb" not in text
    assert "html" not in text


async def test_an_unclear_answer_says_what_kind_of_fact_it_is(reply: Reply, server: LocalSlack) -> None:
    faults = [DropAfterPost(), Answer(500), html(), OversizedAnswer(100_000)]
    server.fail_next(POST, *faults)
    kinds = [(await reply(), fault) for fault in faults]
    assert [attempt.failure.kind for attempt, _ in kinds if isinstance(attempt, Uncertain)] == [
        FailureKind.TRANSPORT,
        FailureKind.AVAILABILITY,
        FailureKind.PROTOCOL,
        FailureKind.RESPONSE_TOO_LARGE,
    ]


def _in(seconds: int) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


LIMITED: list[tuple[str, Callable[[], Fault], tuple[float, float] | None]] = [
    ("200 ratelimited", lambda: ErrorCode("ratelimited"), None),
    ("200 rate_limited", lambda: ErrorCode("rate_limited"), None),
    ("429 with 2 s", lambda: rate_limited("2"), (2, 2)),
    ("429 with a date", lambda: rate_limited(_in(60)), (50, 60)),
    ("429 with rubbish", lambda: rate_limited("soon"), None),
    ("429 with 0", lambda: rate_limited("0"), None),
    ("429 without a header", rate_limited, None),
    ("429 with a past date", lambda: rate_limited(_in(-60)), None),
    ("429 with two hours", lambda: rate_limited("7200"), (3600, 3600)),
    ("429 with HTML", lambda: html(429), None),
    (
        "200 ratelimited with 3 s",
        lambda: Answer(200, '{"ok":false,"error":"ratelimited"}', headers={"Retry-After": "3"}),
        (3, 3),
    ),
]


@pytest.mark.parametrize(("fault", "between"), [row[1:] for row in LIMITED], ids=[row[0] for row in LIMITED])
async def test_s9_a_rate_limit_is_retried_after_the_delay_and_ends_in_one_message(
    reply: Reply, server: LocalSlack, fault: Callable[[], Fault], between: tuple[float, float] | None
) -> None:
    server.fail_next(POST, fault())
    limited = await reply()
    assert isinstance(limited, Retry)
    assert limited.failure.kind is FailureKind.RATE_LIMIT
    if between is None:
        assert limited.delay is None
    else:
        assert limited.delay is not None
        assert between[0] <= limited.delay.total_seconds() <= between[1]
    assert server.posts == []
    again = await reply()
    assert isinstance(again, BranchTaken)
    assert again.branch == "sent"
    assert len(server.posts) == 1


@pytest.mark.parametrize(
    ("code", "kind", "helps"),
    [
        ("not_in_channel", FailureKind.AUTHORIZATION, "invite"),
        ("invalid_auth", FailureKind.AUTHENTICATION, "token"),
        ("not_authed", FailureKind.AUTHENTICATION, "token"),
        ("token_revoked", FailureKind.AUTHENTICATION, "install the app again"),
        ("token_expired", FailureKind.AUTHENTICATION, "expired"),
        ("account_inactive", FailureKind.AUTHENTICATION, "deactivated"),
        ("missing_scope", FailureKind.AUTHORIZATION, "scope"),
        ("no_permission", FailureKind.AUTHORIZATION, "admin"),
        ("org_login_required", FailureKind.AUTHORIZATION, "organisation"),
        ("ekm_access_denied", FailureKind.AUTHORIZATION, "admin"),
        ("access_denied", FailureKind.AUTHORIZATION, "admin"),
        ("channel_not_found", FailureKind.NOT_FOUND, "channel_id"),
        ("is_archived", FailureKind.CONFLICT, "another channel"),
        ("thread_not_found", FailureKind.NOT_FOUND, "thread_timestamp"),
        ("message_not_found", FailureKind.NOT_FOUND, "timestamp"),
        ("msg_too_long", FailureKind.VALIDATION, "shorten"),
        ("msg_blocks_too_long", FailureKind.VALIDATION, "shorten"),
        ("no_text", FailureKind.VALIDATION, "not blank"),
        ("invalid_arguments", FailureKind.VALIDATION, "argument"),
        ("restricted_action", FailureKind.AUTHORIZATION, "another channel"),
        ("restricted_action_thread_only_channel", FailureKind.AUTHORIZATION, "another channel"),
        ("message_limit_exceeded", FailureKind.QUOTA_EXHAUSTED, "workspace"),
        ("weather_bad", FailureKind.PROVIDER_REJECTION, "documentation"),
    ],
)
async def test_s12_a_conclusive_code_is_a_rejection_that_names_the_code_and_what_helps(
    reply: Reply, server: LocalSlack, code: str, kind: FailureKind, helps: str
) -> None:
    server.fail_next(POST, ErrorCode(code))
    attempt = await reply()
    assert isinstance(attempt, BranchTaken)
    assert (attempt.branch, attempt.output) == ("providerRejected", None)
    assert attempt.failure is not None
    assert attempt.failure.kind is kind
    text = render_for_model(POST_THREAD_REPLY, attempt)
    assert code in text
    assert helps in text
    assert server.posts == []


async def test_a_wrong_token_is_a_rejection_and_an_absent_one_a_defect(
    reply: Reply, held: MemoryConnection, server: LocalSlack
) -> None:
    held.set_credential("bot_token", "xoxb-revoked-meanwhile")
    stale = await reply()
    server.scopes["bot"] = ()
    held.set_credential("bot_token", server.bot_token)
    unscoped = await reply()
    held.set_credential("bot_token", None)
    absent = await reply()
    found = [a.failure.message for a in (stale, unscoped, absent) if isinstance(a, BranchTaken) and a.failure]
    assert ["invalid_auth" in found[0], "missing_scope" in found[1]] == [True] * 2
    assert "slack/support-slack has no bot_token" in found[2]
    assert isinstance(absent, BranchTaken)
    assert absent.branch == "defect"
    assert len(server.requests) == 2


async def test_a_rotated_token_works_at_the_next_call(reply: Reply, held: MemoryConnection, server: LocalSlack) -> None:
    await reply()
    server.bot_token = "xoxb-rotated-bot-token"
    held.set_credential("bot_token", "xoxb-rotated-bot-token")
    await reply()
    assert len(server.posts) == 2


async def test_a_call_past_its_deadline_sends_nothing(
    connection: slack.Connection, server: LocalSlack, reply_arguments: dict[str, Any]
) -> None:
    bound = connection.post_thread_reply()
    late = Call(
        "s",
        "CallTool-1",
        "slack",
        "postThreadReply",
        dispatch_before=datetime.now(UTC) - timedelta(milliseconds=1),
    )
    attempt = await bound.dispatch(late, reply_arguments)
    assert isinstance(attempt, Retry)
    assert server.requests == []


async def test_a_kept_connection_the_server_dropped_is_not_sent_on_twice(reply: Reply, server: LocalSlack) -> None:
    await reply()
    server.fail_next(POST, DropAfterPost())
    assert isinstance(await reply(text="Second"), Uncertain)
    assert [post.text for post in server.posts] == ["On its way.", "Second"]


async def test_a_cancelled_dispatch_is_cancelled(reply: Reply, server: LocalSlack) -> None:
    server.fail_next(POST, AnswerLate(0.3))
    task = asyncio.ensure_future(reply())
    while not server.requests:  # noqa: ASYNC110  (the server has no event for it)
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_request_names_its_charset_so_that_slack_has_no_warning(reply: Reply, server: LocalSlack) -> None:
    await reply()
    assert server.requests[-1].headers["content-type"] == "application/json; charset=utf-8"
