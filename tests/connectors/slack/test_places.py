"""Where a reply stands: what Slack says, not what was asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from dexbridge.connectors import (
    Attempt,
    BranchTaken,
    CannotTell,
    FoundNotSent,
    FoundSent,
    Reconciliation,
    Uncertain,
    render_for_model,
)
from dexbridge.connectors.slack import PostedMessage
from dexbridge.connectors.slack.operations import POST_THREAD_REPLY
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import Answer, DropAfterPost, DropWithoutPost
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, SEEDED_THREAD

Reply = Callable[..., Awaitable[Attempt]]
Look = Callable[..., Awaitable[Reconciliation]]
POST = "chat.postMessage"


def told(result: Attempt | Reconciliation) -> tuple[str, PostedMessage]:
    """Branch and output of a post that Slack made."""
    assert isinstance(result, BranchTaken | FoundSent), result
    assert isinstance(result.output, PostedMessage)
    assert result.receipt is not None
    place = {"channel_id": SEEDED_CHANNEL}
    if result.output.message.thread_timestamp is not None:
        place["thread_timestamp"] = result.output.message.thread_timestamp
    assert result.receipt.metadata == place
    return result.branch, result.output


async def test_a_reply_to_a_thread_that_is_gone_says_that_it_stands_in_the_channel(
    reply: Reply, look_for_reply: Look, server: LocalSlack
) -> None:
    server.workspace.delete(SEEDED_CHANNEL, SEEDED_THREAD)
    attempt = await reply()
    branch, posted = told(attempt)
    assert (branch, posted.message.thread_timestamp) == ("sentOutsideThread", None)
    shown = render_for_model(POST_THREAD_REPLY, attempt)
    assert "it stands in the channel, outside the thread" in shown
    assert "Do not post it again" in shown
    assert [post.thread_ts for post in server.posts] == [None]
    assert told(await look_for_reply()) == (branch, posted)


async def test_a_lost_reply_whose_thread_is_gone_is_found_in_the_channel(
    reply: Reply, look_for_reply: Look, server: LocalSlack
) -> None:
    other = server.workspace.post(SEEDED_CHANNEL, "a reply of somebody else's", thread_ts=SEEDED_THREAD)
    server.workspace.delete(SEEDED_CHANNEL, SEEDED_THREAD)
    server.fail_next(POST, DropAfterPost())
    assert isinstance(await reply(), Uncertain)
    assert told(await look_for_reply())[0] == "sentOutsideThread"
    server.workspace.delete(SEEDED_CHANNEL, other.ts)
    assert told(await look_for_reply())[0] == "sentOutsideThread"


async def test_a_thread_that_is_gone_proves_nothing_before_the_channel_was_read_to_its_end(
    reply: Reply, look_for_reply: Look, server: LocalSlack
) -> None:
    server.workspace.delete(SEEDED_CHANNEL, SEEDED_THREAD)
    server.fail_next(POST, DropWithoutPost())
    await reply()
    assert isinstance(await look_for_reply(), FoundNotSent)
    server.fail_next("conversations.history", Answer(500))
    assert isinstance(await look_for_reply(), CannotTell)
    for number in range(70):
        server.workspace.post(SEEDED_CHANNEL, f"chatter {number}")
    assert isinstance(await look_for_reply(), CannotTell)


async def test_a_replys_timestamp_as_the_thread_is_told_as_slack_echoes_it(reply: Reply, server: LocalSlack) -> None:
    first = server.workspace.post(SEEDED_CHANNEL, "a first reply", thread_ts=SEEDED_THREAD)
    branch, posted = told(await reply(thread_timestamp=first.ts))
    assert (branch, posted.message.thread_timestamp) == ("sent", SEEDED_THREAD)
    assert posted.note is not None
    assert f"Use {SEEDED_THREAD}" in posted.note


async def test_a_lost_reply_to_a_replys_timestamp_is_found_in_its_thread(
    look_for_reply: Look,
    reply: Reply,
    server: LocalSlack,
    reply_arguments: dict[str, str],
) -> None:
    first = server.workspace.post(SEEDED_CHANNEL, "a first reply", thread_ts=SEEDED_THREAD)
    reply_arguments["thread_timestamp"] = first.ts
    server.fail_next(POST, DropWithoutPost())
    await reply()
    assert isinstance(await look_for_reply(), FoundNotSent)
    server.fail_next(POST, DropAfterPost())
    await reply()
    branch, posted = told(await look_for_reply())
    assert (branch, posted.message.thread_timestamp) == ("sent", SEEDED_THREAD)
    assert {request.method for request in server.requests} == {POST, "conversations.replies"}


async def test_an_answer_without_the_message_claims_no_thread(reply: Reply, server: LocalSlack) -> None:
    server.fail_next(POST, Answer(200, '{"ok":true,"ts":"1710000000.000200","channel":"C0123456789"}', posted=True))
    branch, posted = told(await reply())
    assert (branch, posted.message.thread_timestamp) == ("sent", None)
    assert posted.note is not None
    assert "did not say whether it stands in the thread" in posted.note


@pytest.mark.parametrize("later", ["a reply to it", None])
async def test_one_call_is_told_alike_directly_and_after_a_look(
    server: LocalSlack, look_for_reply: Look, reply: Reply, later: str | None
) -> None:
    server.workspace.delete(SEEDED_CHANNEL, SEEDED_THREAD)
    direct = told(await reply())
    if later:
        server.workspace.post(SEEDED_CHANNEL, later, thread_ts=direct[1].message.timestamp)
    assert told(await look_for_reply()) == direct
