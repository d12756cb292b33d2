"""A look that fails for a reason that passes is made again, and what cannot be seen proves nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from dexbridge.connectors import Attempt, CannotTell, FoundNotSent, FoundSent, Reconciliation, Uncertain
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import (
    Answer,
    DropAfterPost,
    DropWithoutPost,
    ErrorCode,
    Fault,
    html,
    rate_limited,
)
from dexbridge.connectors.testing.slack_workspace import BOT_USER, SEEDED_CHANNEL, SEEDED_THREAD

Reply = Callable[..., Awaitable[Attempt]]
Look = Callable[..., Awaitable[Reconciliation]]
POST, REPLIES = "chat.postMessage", "conversations.replies"

PASSING: list[tuple[str, Fault, float]] = [
    ("429 with a delay", rate_limited("1"), 1),
    ("429 with a fraction", rate_limited("1.5"), 2),
    ("429 of an app with one read a minute", rate_limited("60"), 60),
    ("429 without a delay", rate_limited(), 5),
    ("ratelimited", ErrorCode("ratelimited"), 5),
    ("HTTP 503", Answer(503, '{"ok":false,"error":"service_unavailable"}'), 5),
    ("fatal_error", ErrorCode("fatal_error"), 5),
    ("a page of a gateway", html(), 5),
    ("dropped", DropAfterPost(), 5),
]


@pytest.mark.parametrize(("fault", "delay"), [row[1:] for row in PASSING], ids=[row[0] for row in PASSING])
async def test_a_look_that_fails_for_now_says_when_to_look_again_and_is_about_the_look(
    reply: Reply, look_for_reply: Look, server: LocalSlack, fault: Fault, delay: float
) -> None:
    server.fail_next(POST, DropAfterPost())
    assert isinstance(await reply(), Uncertain)
    server.fail_next(REPLIES, fault)
    started = datetime.now(UTC)
    found = await look_for_reply()
    assert isinstance(found, CannotTell)
    assert found.retry_at is not None
    assert timedelta(seconds=delay) <= found.retry_at - started < timedelta(seconds=delay + 2)
    assert not found.too_early
    assert "could not be" in found.message
    assert "nothing was done" not in found.message
    assert isinstance(await look_for_reply(), FoundSent)


@pytest.mark.parametrize("code", ["missing_scope", "not_allowed_token_type", "channel_not_found", "is_archived"])
async def test_a_look_that_will_go_on_failing_is_not_made_again(
    look_for_reply: Look, server: LocalSlack, code: str
) -> None:
    server.fail_next(REPLIES, ErrorCode(code))
    found = await look_for_reply()
    assert isinstance(found, CannotTell)
    assert found.retry_at is None
    assert code in found.message


async def test_a_post_whose_metadata_is_hidden_and_whose_text_is_rewritten_is_not_taken_for_unsent(
    reply: Reply, look_for_reply: Look, server: LocalSlack, reply_arguments: dict[str, str]
) -> None:
    reply_arguments["text"] = "🎉 done, see https://x.example/y or mail a@b.example"
    server.hides_metadata = True
    server.fail_next(POST, DropAfterPost())
    assert isinstance(await reply(), Uncertain)
    found = await look_for_reply()
    assert isinstance(found, CannotTell)
    assert found.retry_at is None
    assert "may be it" in found.message
    server.hides_metadata = False
    assert isinstance(await look_for_reply(), FoundSent)


@pytest.mark.parametrize(
    "more",
    [
        {"user": BOT_USER, "bot_id": "B1"},
        {"subtype": "bot_message", "user": None},
        {"app_id": "A1"},
        {"bot_profile": {"name": "deploys"}},
    ],
)
async def test_any_bots_message_without_metadata_may_be_ours(
    look_for_reply: Look, server: LocalSlack, more: dict[str, object]
) -> None:
    post = server.workspace.post(SEEDED_CHANNEL, "Quite another text", thread_ts=SEEDED_THREAD, more=more)
    assert isinstance(await look_for_reply(), CannotTell)
    server.workspace.delete(SEEDED_CHANNEL, post.ts)
    assert isinstance(await look_for_reply(), FoundNotSent)


@pytest.mark.parametrize("odd", [{"ts": None}, {"ts": 1.5}])
async def test_a_message_that_cannot_be_read_may_be_ours(
    reply: Reply, look_for_reply: Look, server: LocalSlack, odd: dict[str, object]
) -> None:
    server.workspace.post(SEEDED_CHANNEL, "odd", thread_ts=SEEDED_THREAD, more=odd)
    assert isinstance(await look_for_reply(), CannotTell)
    server.fail_next(POST, DropAfterPost())
    await reply()
    assert isinstance(await look_for_reply(), FoundSent)


@pytest.mark.parametrize("odd", [{"text": None}, {"text": 7}, {"text": ["a"]}, {"user": 1}, {"metadata": "none"}])
async def test_an_odd_text_among_the_messages_does_not_stop_the_look(
    reply: Reply, look_for_reply: Look, server: LocalSlack, odd: dict[str, object]
) -> None:
    server.workspace.post(SEEDED_CHANNEL, "odd", thread_ts=SEEDED_THREAD, more=odd)
    assert isinstance(await look_for_reply(), FoundNotSent)
    server.fail_next(POST, DropAfterPost())
    await reply()
    assert isinstance(await look_for_reply(), FoundSent)


async def test_a_post_that_was_deleted_before_the_look_is_not_called_unsent(
    reply: Reply, look_for_reply: Look, server: LocalSlack
) -> None:
    said: set[str] = set()
    for lost in (DropAfterPost(), DropWithoutPost()):
        server.fail_next(POST, lost)
        assert isinstance(await reply(), Uncertain)
        for post in tuple(server.posts):
            server.workspace.delete(SEEDED_CHANNEL, post.ts)
        found = await look_for_reply()
        assert isinstance(found, FoundNotSent)
        said.add(found.message)
    assert said == {"The message is not in Slack: it was not sent, or was deleted since."}
