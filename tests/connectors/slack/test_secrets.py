"""No token of a Slack connection shows in what a call gives, logs or raises."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    BranchTaken,
    Call,
    Reconciliation,
    render_for_model,
    slack,
)
from dexbridge.connectors.slack.operations import POST_THREAD_REPLY
from dexbridge.connectors.testing import MemoryConnection
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import (
    Answer,
    AnswerLate,
    DropAfterPost,
    ErrorCode,
    Fault,
    TruncatedAnswer,
    html,
    rate_limited,
    redirect,
)
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, SEEDED_THREAD

Reply = Callable[..., Awaitable[Attempt]]
Look = Callable[..., Awaitable[Reconciliation]]
CallFor = Callable[[BoundOperation], Call]

BOT = "xoxb-local-bot-token"
USER = "xoxp-local-user-token"


def shown(*things: object) -> str:
    return " ".join(f"{thing!r} {thing!s}" for thing in things)


FAULTS: list[Fault | None] = [
    None,
    DropAfterPost(),
    AnswerLate(0.8),
    TruncatedAnswer(),
    html(),
    rate_limited("2"),
    redirect(f"/api/auth.test?token={BOT}"),
    ErrorCode("invalid_auth"),
    ErrorCode(BOT),
    Answer(200, json.dumps({"ok": False, "error": BOT})),
    Answer(200, json.dumps({"ok": True, "ts": "1710000000.000200", "channel": BOT, "message": {"user": BOT}})),
    Answer(500, BOT, headers={"X-Slack-Req-Id": BOT}),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_a_post_shows_no_token_whatever_happens(
    reply: Reply,
    look_for_reply: Look,
    server: LocalSlack,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    *,
    fault: Fault | None,
) -> None:
    caplog.set_level(logging.DEBUG)
    if fault is not None:
        server.fail_next("chat.postMessage", fault)
        server.fail_next("conversations.replies", fault)
    attempt = await reply()
    found = await look_for_reply()
    text = shown(attempt, found, render_for_model(POST_THREAD_REPLY, attempt))
    if isinstance(attempt, BranchTaken) and attempt.receipt is not None:
        text += json.dumps(attempt.receipt.to_json())
    text += caplog.text + "".join(capfd.readouterr())
    assert BOT not in text
    assert USER not in text


async def test_message_texts_are_not_logged(reply: Reply, caplog: pytest.LogCaptureFixture, server: LocalSlack) -> None:
    caplog.set_level(logging.DEBUG)
    await reply(text="A customer's private words")
    assert server.posts
    assert "private words" not in caplog.text


@pytest.mark.parametrize("token", ["xoxb-with-a-line\nbreak: yes", "xoxb-é-not-latin-✓"])
async def test_a_token_no_header_can_hold_is_a_defect_that_does_not_show_it(
    reply: Reply, held: MemoryConnection, server: LocalSlack, caplog: pytest.LogCaptureFixture, token: str
) -> None:
    held.set_credential("bot_token", token)
    attempt = await reply()
    assert isinstance(attempt, BranchTaken)
    assert server.posts == []
    assert token not in shown(attempt) + caplog.text
    assert "xoxb-" not in shown(attempt) + caplog.text


async def test_a_token_someone_wrote_into_the_thread_is_masked(
    connection: slack.Connection, server: LocalSlack, call_for: CallFor
) -> None:
    server.workspace.post(SEEDED_CHANNEL, f"the token is {USER}, keep it", thread_ts=SEEDED_THREAD)
    bound = connection.list_thread_messages()
    attempt = await bound.dispatch(call_for(bound), {"channel_id": SEEDED_CHANNEL, "thread_timestamp": SEEDED_THREAD})
    assert "the token is [redacted], keep it" in shown(attempt)
    assert USER not in shown(attempt)


async def test_a_cancelled_call_carries_no_frame_that_holds_a_token(
    connection: slack.Connection, server: LocalSlack, call_for: CallFor, reply_arguments: dict[str, Any]
) -> None:
    bound = connection.post_thread_reply()
    server.fail_next("chat.postMessage", AnswerLate(0.4))
    task = asyncio.create_task(bound.dispatch(call_for(bound), reply_arguments))
    while not server.requests:  # noqa: ASYNC110  (the server has no event for it)
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await task
    told = traceback.TracebackException.from_exception(cancelled.value, capture_locals=True)
    assert BOT not in "".join(told.format())


def test_objects_show_no_token(connection: slack.Connection, held: MemoryConnection) -> None:
    operations = [connection.post_thread_reply(), connection.list_thread_messages()]
    text = shown(connection, held, vars(held), vars(connection), *operations, *map(vars, operations))
    assert BOT not in text
    assert USER not in text
