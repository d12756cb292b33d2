"""A look over several pages, while messages are deleted, and for apps that may read one page a minute."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from dexbridge.connectors import Attempt, CannotTell, FoundNotSent, FoundSent, Reconciliation, Uncertain
from dexbridge.connectors.testing.faults import Answered
from dexbridge.connectors.testing.local_server import ReceivedRequest
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import DropAfterPost, DropWithoutPost
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, SEEDED_THREAD

Reply = Callable[..., Awaitable[Attempt]]
Look = Callable[..., Awaitable[Reconciliation]]
POST = "chat.postMessage"
LIMIT = Answered(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "1"})


class ModeratedSlack(LocalSlack):
    """By the number of a read: what is answered instead, and which message is deleted right after.

    With `counts_pages` its cursors are numbers of messages, as those of other servers are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[int, Answered] = {}
        self.deletes: dict[int, int] = {}
        self.counts_pages = False

    def carry_out(self, request: ReceivedRequest) -> Answered:
        if request.method == POST:
            return super().carry_out(request)
        answered = self._counted(request) if self.counts_pages else super().carry_out(request)
        number = len(self.reads())
        if number in self.deletes:
            self.workspace.delete(SEEDED_CHANNEL, self.posts[self.deletes[number]].ts)
        return self.answers.get(number, answered)

    def reads(self) -> list[str]:
        """The cursor of each read."""
        return [str(one.body.get("cursor", "")) for one in self.requests if one.method != POST]

    def _counted(self, request: ReceivedRequest) -> Answered:
        rows = [post.to_json(with_metadata=True) for post in self.workspace.thread(SEEDED_CHANNEL, SEEDED_THREAD) or []]
        begin = int(request.body.get("cursor") or 0)
        more = str(begin + 15) if len(rows) > begin + 15 else ""
        page: dict[str, Any] = {"messages": rows[begin : begin + 15], "response_metadata": {"next_cursor": more}}
        return Answered(200, {"ok": True, "has_more": bool(more), **page})


@pytest.fixture
async def server() -> AsyncIterator[ModeratedSlack]:
    async with ModeratedSlack() as local:
        yield local


def chatter(server: LocalSlack, count: int) -> None:
    for number in range(count):
        server.workspace.post(SEEDED_CHANNEL, f"chatter {number}", thread_ts=SEEDED_THREAD)


async def test_a_deletion_between_two_pages_moves_no_message_off_them(
    reply: Reply, look_for_reply: Look, server: ModeratedSlack
) -> None:
    chatter(server, 14)  # with the thread's first message a page
    server.fail_next(POST, DropAfterPost())
    assert isinstance(await reply(), Uncertain)
    chatter(server, 1)
    server.deletes = {1: 0}
    assert isinstance(await look_for_reply(), FoundSent)
    assert len(server.reads()) == 2


@pytest.mark.parametrize("lost", [DropAfterPost(), DropWithoutPost()], ids=["posted", "not posted"])
async def test_where_pages_are_counted_several_of_them_do_not_prove_absence(
    reply: Reply, look_for_reply: Look, server: ModeratedSlack, lost: DropAfterPost | DropWithoutPost
) -> None:
    server.counts_pages = True
    chatter(server, 14)
    server.fail_next(POST, lost)
    assert isinstance(await reply(), Uncertain)
    chatter(server, 2)
    server.deletes = {1: 0}
    found = await look_for_reply()
    assert isinstance(found, CannotTell)
    assert "passed over" in found.message


async def test_where_pages_are_counted_one_page_proves_absence(look_for_reply: Look, server: ModeratedSlack) -> None:
    server.counts_pages = True
    assert isinstance(await look_for_reply(), FoundNotSent)


@pytest.mark.parametrize("lost", [DropAfterPost(), DropWithoutPost()], ids=["posted", "not posted"])
async def test_an_app_with_one_read_a_while_goes_on_where_it_was_stopped(
    reply: Reply, look_for_reply: Look, server: ModeratedSlack, lost: DropAfterPost | DropWithoutPost
) -> None:
    chatter(server, 31)
    server.fail_next(POST, lost)
    assert isinstance(await reply(), Uncertain)
    server.answers = {2: LIMIT, 4: LIMIT}
    found = await look_for_reply(patience=20)
    assert isinstance(found, FoundSent if isinstance(lost, DropAfterPost) else FoundNotSent)
    first, limited, second, limited_again, third = server.reads()
    assert first == ""
    assert (limited, limited_again) == (second, third)


async def test_a_thread_that_is_gone_counts_as_a_read(
    reply: Reply, look_for_reply: Look, server: ModeratedSlack
) -> None:
    server.workspace.delete(SEEDED_CHANNEL, SEEDED_THREAD)
    server.fail_next(POST, DropAfterPost())
    await reply()
    server.answers = {2: LIMIT}
    assert isinstance(await look_for_reply(patience=20), FoundSent)
    methods = [request.method for request in server.requests if request.method != POST]
    assert methods == ["conversations.replies", "conversations.history", "conversations.history"]


async def test_a_look_does_not_wait_longer_than_its_time_or_before_it_can_conclude(
    look_for_reply: Look, server: ModeratedSlack
) -> None:
    chatter(server, 20)
    for read, times in ((2, {"patience": 0.5}), (4, {"patience": 20, "ended_ago": 2}), (6, {"patience": 0})):
        server.answers = {read: LIMIT}
        found = await look_for_reply(**times)
        assert isinstance(found, CannotTell)
        assert found.retry_at is not None
        assert len(server.reads()) == read


async def test_the_first_page_is_not_waited_for(look_for_reply: Look, server: ModeratedSlack) -> None:
    server.answers = {1: LIMIT}
    assert isinstance(await look_for_reply(patience=20), CannotTell)
    assert len(server.reads()) == 1
