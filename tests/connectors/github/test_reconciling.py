"""Was the comment added? Everything that shows it, and everything that makes it unknowable."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

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
    github,
)
from dexbridge.connectors.github import AddedComment
from dexbridge.connectors.testing import MemoryConnection
from dexbridge.connectors.testing.faults import (
    Answer,
    AnswerLate,
    DropAfterPost,
    DropWithoutPost,
    Fault,
    PostLate,
    html,
)
from dexbridge.connectors.testing.local_github import LocalGitHub

CommentOn = Callable[..., Awaitable[Attempt]]
Look = Callable[..., Awaitable[Reconciliation]]
CallFor = Callable[[BoundOperation], Call]
POST, READ = "POST comments", "GET comments"


@pytest.mark.parametrize("fault", [DropAfterPost(), AnswerLate(0.8), PostLate(0.7)], ids=lambda f: type(f).__name__)
async def test_a_lost_answer_is_found_by_its_call_id(
    comment: CommentOn, look_for_comment: Look, server: LocalGitHub, fault: Fault
) -> None:
    server.add_comment("another comment")
    server.fail_next(POST, fault)
    assert isinstance(await comment(), Uncertain)
    await server.settle()
    found = await look_for_comment()
    _, kept = server.comments
    assert isinstance(found, FoundSent)
    assert (found.branch, found.receipt.provider_object_id) == ("added", str(kept.id))
    assert isinstance(found.output, AddedComment)
    assert found.output.comment.body == "On its way."
    assert [request.method for request in server.requests] == [POST, READ]


async def test_what_was_not_added_is_said_and_not_sent_again(
    comment: CommentOn, look_for_comment: Look, server: LocalGitHub
) -> None:
    server.fail_next(POST, DropWithoutPost())
    assert isinstance(await comment(), Uncertain)
    found = await look_for_comment()
    assert isinstance(found, FoundNotSent)
    assert "not added" in found.message
    early = await look_for_comment(ended_ago=2)
    assert isinstance(early, CannotTell)
    assert early.retry_at is not None
    assert server.comments == []


OTHER = f"<!-- dexbridge-call: {'0' * 36} -->"


@pytest.mark.parametrize(
    ("body", "is_surely_another"),
    [
        (f"<!-- dexbridge-call: {{call_id}} -->\n\ntext\n\n{OTHER}", True),
        (f"text\n\n<!-- dexbridge-call: {{call_id}} -->\n\n{OTHER}", True),
        (f"{OTHER}\n\nOn its way.", True),
        (f"{OTHER}\n\n<!-- dexbridge-call: {{call_id}} -->\n\nOn its way.", False),
        (f"<!-- dexbridge-call: {{call_id}} -->\n\ntext\n\n{OTHER}\n\nedited", False),
        ("<!-- dexbridge-call: {call_id} --> in one line", False),
        ("> <!-- dexbridge-call: {call_id} -->\n\nquoted", False),
        ("text <!-- dexbridge-call: {call_id} -->\n\nOn its way.", False),
    ],
)
async def test_a_call_id_elsewhere_in_a_comment_is_not_ours(
    look_for_comment: Look,
    server: LocalGitHub,
    connection: github.Connection,
    call_for: CallFor,
    *,
    body: str,
    is_surely_another: bool,
) -> None:
    server.add_comment(body.format(call_id=call_for(connection.add_issue_comment()).call_id))
    assert isinstance(await look_for_comment(), FoundNotSent if is_surely_another else CannotTell)


@pytest.mark.parametrize(
    ("edited", "found"),
    [
        ("{kept}\n\nEDIT: it arrived.", FoundSent),
        ("A word before.\n\n{kept}", FoundSent),
        ("On its way.", CannotTell),
        ("Something else", CannotTell),
        ("<!-- dexbridge-call: {call_id} -->\n\nOn its way. As earlier versions wrote it, and more.", FoundSent),
    ],
)
async def test_an_edited_comment_is_never_called_absent(
    look_for_comment: Look,
    comment: CommentOn,
    server: LocalGitHub,
    connection: github.Connection,
    call_for: CallFor,
    *,
    edited: str,
    found: type[Reconciliation],
) -> None:
    server.fail_next(POST, DropAfterPost())
    assert isinstance(await comment(), Uncertain)
    (kept,) = server.comments
    call_id = call_for(connection.add_issue_comment()).call_id
    server.edit_comment(kept, edited.format(kept=kept.body, call_id=call_id))
    assert type(await look_for_comment()) is found


async def test_an_older_comment_that_was_edited_meanwhile_is_not_ours(
    look_for_comment: Look, server: LocalGitHub
) -> None:
    server.edit_comment(server.add_comment("hello", age=timedelta(hours=1)), "hello again")
    found = await look_for_comment()
    assert isinstance(found, FoundNotSent)
    assert found.message == "GitHub does not hold the comment: it was not added, or was deleted since."


async def test_the_same_text_without_a_marker_leaves_the_outcome_unknown(
    look_for_comment: Look, server: LocalGitHub
) -> None:
    server.add_comment("On  its way.\r\n")
    found = await look_for_comment()
    assert isinstance(found, CannotTell)
    assert "may be it" in found.message


@pytest.mark.parametrize(
    "body",
    [
        "<!-- dexbridge-call: {call_id} -->\r\n\r\nOn its way.",
        "On its way.\r\n\r\n<!-- dexbridge-call: {call_id} -->\r\n",
    ],
)
async def test_a_marker_with_other_line_ends_is_found(
    look_for_comment: Look, server: LocalGitHub, connection: github.Connection, call_for: CallFor, body: str
) -> None:
    server.add_comment(body.format(call_id=call_for(connection.add_issue_comment()).call_id))
    assert isinstance(await look_for_comment(), FoundSent)


async def test_one_comment_that_cannot_be_read_leaves_the_outcome_unknown(
    look_for_comment: Look, server: LocalGitHub
) -> None:
    server.add_comment("x" * 70_000)
    found = await look_for_comment()
    assert isinstance(found, CannotTell)
    assert "maxResponseBytes" in found.message


async def test_an_odd_object_among_the_comments_may_be_ours_and_does_not_hide_ours(
    look_for_comment: Look, comment: CommentOn, server: LocalGitHub
) -> None:
    server.fail_next(POST, DropAfterPost())
    assert isinstance(await comment(), Uncertain)
    (ours,) = (kept.to_json() for kept in server.comments)
    server.fail_next(READ, Answer(200, json.dumps([{"id": None}, ours])))
    assert isinstance(await look_for_comment(), FoundSent)
    other = server.add_comment("another").to_json()
    server.fail_next(READ, Answer(200, json.dumps([{**ours, "created_at": None}, other])))
    found = await look_for_comment()
    assert isinstance(found, CannotTell)
    assert "may be it" in found.message


async def test_several_pages_are_read_and_no_more_than_a_handful(
    look_for_comment: Look, comment: CommentOn, server: LocalGitHub
) -> None:
    for number in range(70):
        server.add_comment(f"chatter {number}")
    assert isinstance(await look_for_comment(), FoundNotSent)
    assert [request.body["page"] for request in server.requests] == ["1", "2", "3", "1", "2"]
    server.fail_next(POST, DropAfterPost())
    await comment()
    assert isinstance(await look_for_comment(), FoundSent)
    server.comments.pop()
    for number in range(600):
        server.add_comment(f"more chatter {number}")
    server.requests.clear()
    found = await look_for_comment()
    assert isinstance(found, CannotTell)
    assert "than the 640 that could be read" in found.message
    assert len(server.requests) == 20


async def test_only_comments_since_the_call_are_asked_for(look_for_comment: Look, server: LocalGitHub) -> None:
    await look_for_comment(opened_ago=100, ended_ago=50)
    (request,) = server.requests
    since = datetime.fromisoformat(request.body["since"])
    assert timedelta(seconds=155) < datetime.now(UTC) - since < timedelta(seconds=170)
    assert (request.body["per_page"], request.body["page"]) == ("32", "1")


UNREADABLE: list[tuple[str, Fault, int | None]] = [
    ("a limit with 3 s", Answer(429, '{"message":"slow down"}', headers={"Retry-After": "3"}), 3),
    ("a limit", Answer(403, '{"message":"API rate limit exceeded"}'), 60),
    ("HTTP 503", html(503), 5),
    ("no answer", DropWithoutPost(), 5),
    ("no such issue", Answer(404, '{"message":"Not Found"}'), None),
    ("moved", Answer(301, '{"message":"Moved Permanently"}', headers={"Location": "/x"}), None),
    ("an object", Answer(200, "{}"), 5),
    ("a comment without id", Answer(200, '[{"body":"x"}]'), 5),
    (
        "clocks apart",
        Answer(200, "[]", headers={"Date": format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)}),
        None,
    ),
]


@pytest.mark.parametrize(("fault", "again"), [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE])
async def test_what_cannot_be_read_is_looked_for_again_where_that_may_help(
    look_for_comment: Look, server: LocalGitHub, fault: Fault, again: int | None
) -> None:
    server.fail_next(READ, fault)
    found = await look_for_comment()
    assert isinstance(found, CannotTell)
    assert not found.too_early
    assert "nothing was done" not in found.message
    assert len(server.requests) == 1
    if again is None:
        assert found.retry_at is None
    else:
        assert found.retry_at is not None
        assert again - 1 < (found.retry_at - datetime.now(UTC)).total_seconds() <= again
        assert isinstance(await look_for_comment(), FoundNotSent)


async def test_without_a_token_the_outcome_stays_unknown(look_for_comment: Look, held: MemoryConnection) -> None:
    held.set_credential("token", None)
    found = await look_for_comment()
    assert isinstance(found, CannotTell)
    assert "looking up whether addIssueComment was carried out needs it" in found.message
