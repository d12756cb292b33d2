"""Twenty comments of 250,000 bytes: more than one answer may hold."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dexbridge.connectors import BoundOperation, BranchTaken, Call, FoundNotSent, FoundSent, Uncertain, github
from dexbridge.connectors.github import IssueComments
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.faults import DropAfterPost
from dexbridge.connectors.testing.local_github import LocalGitHub

CallFor = Callable[[BoundOperation], Call]


@pytest.fixture
async def unbounded(server: LocalGitHub) -> AsyncIterator[github.Connection]:
    """A connection with the default maxResponseBytes."""
    held = MemoryConnection(
        "github", "engineering", configuration={"endpoint": server.url}, credentials={"token": server.token}
    )
    for number in range(20):
        server.add_comment(f"{number} {'x' * 250_000}", age=timedelta(seconds=30))
    yield github.new_project_connection(MemoryProject(held), "engineering")
    await held.aclose()


async def test_a_comment_among_large_ones_is_found_in_smaller_pages(
    unbounded: github.Connection, server: LocalGitHub, call_for: CallFor, issue: dict[str, Any]
) -> None:
    bound = unbounded.add_issue_comment()
    given = {**issue, "body": "On its way."}
    now = datetime.now(UTC)
    opened, ended = now - timedelta(seconds=20), now - timedelta(seconds=10)
    absent = await bound.reconcile(call_for(bound), given, opened_at=opened, ended_by=ended)
    assert isinstance(absent, FoundNotSent)
    server.fail_next("POST comments", DropAfterPost())
    assert isinstance(await bound.dispatch(call_for(bound), given), Uncertain)
    server.requests.clear()
    found = await bound.reconcile(call_for(bound), given, opened_at=opened, ended_by=ended)
    assert isinstance(found, FoundSent)
    pages = [(request.body["per_page"], request.body["page"]) for request in server.requests]
    assert pages == [("32", "1"), ("16", "1"), ("16", "2")]


async def test_a_page_that_is_too_large_names_the_smaller_one_to_ask_for(
    unbounded: github.Connection, call_for: CallFor, issue: dict[str, Any]
) -> None:
    bound = unbounded.list_issue_comments()
    told: list[str] = []
    read: list[int] = []
    for page in ({"page_size": 30}, {"page_size": 15}, {"page_size": 15, "cursor": "2"}):
        attempt = await bound.dispatch(call_for(bound), {**issue, **page})
        assert isinstance(attempt, BranchTaken)
        told += [attempt.failure.message] if attempt.failure else []
        read += [len(attempt.output.comments)] if isinstance(attempt.output, IssueComments) else []
    assert told == ["these comments are too large to be read at once; call again with page_size 15 and no cursor."]
    assert read == [15, 5]


async def test_behind_a_page_that_was_read_the_cursor_goes_on_where_it_ended(
    connection: github.Connection, server: LocalGitHub, call_for: CallFor, issue: dict[str, Any]
) -> None:
    for size in (*[10] * 6, 70_000, 10):
        server.add_comment("x" * size)
    bound = connection.list_issue_comments()
    told: list[str] = []
    for page in ((6, "2"), (3, "3"), (1, "7")):
        attempt = await bound.dispatch(call_for(bound), {**issue, "page_size": page[0], "cursor": page[1]})
        assert isinstance(attempt, BranchTaken)
        assert attempt.failure is not None
        told.append(attempt.failure.message.partition("; ")[2])
    assert told == [
        "call again with page_size 3 and cursor 3.",
        "call again with page_size 1 and cursor 7.",
        "go on behind it with page_size 1 and cursor 8.",
    ]
    last = await bound.dispatch(call_for(bound), {**issue, "page_size": 1, "cursor": "8"})
    assert isinstance(last, BranchTaken)
    assert last.branch == "read"
