"""A look over several pages, while comments are deleted and while GitHub has a limit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from dexbridge.connectors import Attempt, CannotTell, FoundNotSent, FoundSent, Reconciliation, Uncertain
from dexbridge.connectors.testing.faults import Answered, DropAfterPost, DropWithoutPost
from dexbridge.connectors.testing.local_github import LocalGitHub
from dexbridge.connectors.testing.local_server import ReceivedRequest

CommentOn = Callable[..., Awaitable[Attempt]]
Look = Callable[..., Awaitable[Reconciliation]]
POST, READ = "POST comments", "GET comments"


class ModeratedGitHub(LocalGitHub):
    """By the number of a read of the comments: what is answered instead, and which comment is deleted right after."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[int, Answered] = {}
        self.deletes: dict[int, int] = {}

    def carry_out(self, request: ReceivedRequest) -> Answered:
        answered = super().carry_out(request)
        if request.method != READ:
            return answered
        number = len(self.pages_read())
        if number in self.deletes:
            del self.comments[self.deletes[number]]
        return self.answers.get(number, answered)

    def pages_read(self) -> list[str]:
        return [str(request.body["page"]) for request in self.requests if request.method == READ]


@pytest.fixture
async def server() -> AsyncIterator[ModeratedGitHub]:
    async with ModeratedGitHub() as local:
        yield local


async def test_a_comment_that_moved_off_the_page_that_is_read_next_is_not_called_absent(
    comment: CommentOn, look_for_comment: Look, server: ModeratedGitHub
) -> None:
    for number in range(32):
        server.add_comment(f"chatter {number}")
    server.fail_next(POST, DropAfterPost())
    assert isinstance(await comment(), Uncertain)
    server.add_comment("one more")
    server.deletes = {1: 0}
    assert isinstance(await look_for_comment(), FoundSent)
    assert server.pages_read() == ["1", "2", "1"]


async def test_absence_is_concluded_when_the_comments_read_before_are_still_there(
    comment: CommentOn, look_for_comment: Look, server: ModeratedGitHub
) -> None:
    for number in range(70):
        server.add_comment(f"chatter {number}")
    server.fail_next(POST, DropWithoutPost())
    assert isinstance(await comment(), Uncertain)
    server.deletes = {2: 0}
    found = await look_for_comment()
    assert isinstance(found, CannotTell)
    assert found.retry_at is not None
    assert "deleted while it was read" in found.message
    server.deletes = {}
    assert isinstance(await look_for_comment(), FoundNotSent)


async def test_a_deletion_on_the_last_page_moves_nothing_that_is_still_to_be_read(
    look_for_comment: Look, server: ModeratedGitHub
) -> None:
    for number in range(40):
        server.add_comment(f"chatter {number}")
    server.deletes = {1: 39}
    assert isinstance(await look_for_comment(), FoundNotSent)


LIMIT = Answered(429, {"message": "slow down"}, {"Retry-After": "1"})
AWAY = Answered(503, None, {"Retry-After": "1"})


@pytest.mark.parametrize("failing", [[LIMIT], [LIMIT, LIMIT], [AWAY]], ids=["limit", "two limits", "HTTP 503"])
async def test_a_look_goes_on_at_the_page_where_it_was_stopped(
    look_for_comment: Look, comment: CommentOn, server: ModeratedGitHub, failing: list[Answered]
) -> None:
    for number in range(40):
        server.add_comment(f"chatter {number}")
    server.fail_next(POST, DropAfterPost())
    assert isinstance(await comment(), Uncertain)
    server.answers = dict(enumerate(failing, start=2))
    assert isinstance(await look_for_comment(patience=20), FoundSent)
    assert server.pages_read() == ["1", "2", *("2" for _ in failing)]


async def test_a_look_does_not_wait_longer_than_its_time_or_before_it_can_conclude(
    look_for_comment: Look, server: ModeratedGitHub
) -> None:
    for number in range(40):
        server.add_comment(f"chatter {number}")
    for read, times in ((2, {"patience": 0.5}), (4, {"patience": 20, "ended_ago": 2}), (6, {"patience": 0})):
        server.answers = {read: LIMIT}
        found = await look_for_comment(**times)
        assert isinstance(found, CannotTell)
        assert found.retry_at is not None
        assert "rate limit" in found.message
        assert len(server.pages_read()) == read


@pytest.mark.parametrize("answered", [LIMIT, Answered(404, {"message": "Not Found"})], ids=["limit", "not found"])
async def test_the_first_page_is_not_waited_for(
    look_for_comment: Look, server: ModeratedGitHub, answered: Answered
) -> None:
    server.answers = {1: answered}
    assert isinstance(await look_for_comment(patience=20), CannotTell)
    assert server.pages_read() == ["1"]
