"""A connection that holds a bot's token alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    BranchTaken,
    Call,
    CannotTell,
    FoundNotSent,
    FoundSent,
    Reconciliation,
    slack,
)
from dexbridge.connectors.testing import MemoryConnection
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import DropAfterPost, ErrorCode
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, SEEDED_THREAD

Reply = Callable[..., Awaitable[Attempt]]
Look = Callable[..., Awaitable[Reconciliation]]
CallFor = Callable[[BoundOperation], Call]


@pytest.fixture(autouse=True)
def bot_alone(held: MemoryConnection) -> None:
    held.set_credential("user_token", None)


async def test_an_unclear_post_settles_itself(reply: Reply, look_for_reply: Look, server: LocalSlack) -> None:
    assert isinstance(await look_for_reply(), FoundNotSent)
    server.fail_next("chat.postMessage", DropAfterPost())
    await reply()
    assert isinstance(await look_for_reply(), FoundSent)
    assert {request.token_kind for request in server.requests} == {"bot"}


async def test_threads_are_read(connection: slack.Connection, call_for: CallFor) -> None:
    bound = connection.list_thread_messages()
    arguments = {"channel_id": SEEDED_CHANNEL, "thread_timestamp": SEEDED_THREAD}
    attempt = await bound.dispatch(call_for(bound), bound.validate(arguments))
    assert isinstance(attempt, BranchTaken)
    assert attempt.branch == "read"


@pytest.mark.parametrize("code", ["missing_scope", "not_allowed_token_type"])
async def test_a_bot_that_may_not_read_cannot_tell(
    reply: Reply, look_for_reply: Look, server: LocalSlack, code: str
) -> None:
    server.fail_next("chat.postMessage", DropAfterPost())
    await reply()
    if code == "missing_scope":
        server.scopes["bot"] = ("chat:write",)
    else:
        server.fail_next("conversations.replies", ErrorCode(code))
    found = await look_for_reply()
    assert isinstance(found, CannotTell)
    assert code in found.message
    assert found.retry_at is None


async def test_with_both_tokens_the_user_reads(
    held: MemoryConnection, look_for_reply: Look, server: LocalSlack
) -> None:
    held.set_credential("user_token", server.user_token)
    await look_for_reply()
    assert [request.token_kind for request in server.requests] == ["user"]
