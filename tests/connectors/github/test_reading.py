"""GitHub's two Queries."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    BranchTaken,
    Call,
    FailureKind,
    Retry,
    github,
    render_for_model,
)
from dexbridge.connectors.contract.attempts.rendering import MODEL_TEXT_LIMIT
from dexbridge.connectors.github import FoundIssue, IssueComments
from dexbridge.connectors.github.operations import LIST_ISSUE_COMMENTS
from dexbridge.connectors.testing.faults import Answer, DropAfterPost, Fault, TruncatedAnswer, html
from dexbridge.connectors.testing.local_github import LocalGitHub

CallFor = Callable[[BoundOperation], Call]


async def read(bound: BoundOperation, call_for: CallFor, arguments: dict[str, Any]) -> Attempt:
    return await bound.dispatch(call_for(bound), bound.validate(arguments))


async def test_an_issue_is_read(
    connection: github.Connection, server: LocalGitHub, call_for: CallFor, issue: dict[str, Any]
) -> None:
    attempt = await read(connection.get_issue(), call_for, issue)
    assert isinstance(attempt, BranchTaken)
    assert isinstance(attempt.output, FoundIssue)
    assert attempt.output.issue.model_dump() == {
        **issue,
        "title": "The lamp flickers",
        "state": "open",
        "state_reason": None,
        "is_pull_request": False,
        "is_locked": False,
        "author": "octocat",
        "labels": ("bug", "help wanted"),
        "comment_count": 0,
        "created_at": "2026-01-01T08:00:00Z",
        "updated_at": "2026-01-01T09:00:00Z",
        "url": "https://github.com/octo-org/octo-repo/issues/42",
        "body": "It flickers since Monday.",
    }


async def test_an_issue_of_a_deleted_user_without_text_is_read(
    connection: github.Connection, server: LocalGitHub, call_for: CallFor, issue: dict[str, Any]
) -> None:
    raw: dict[str, Any] = {
        "number": 42,
        "title": "t",
        "state": "closed",
        "user": None,
        "body": None,
        "pull_request": {},
        "created_at": "",
        "updated_at": "",
        "html_url": "",
    }
    server.fail_next("GET issue", Answer(200, json.dumps(raw)))
    attempt = await read(connection.get_issue(), call_for, issue)
    assert isinstance(attempt, BranchTaken)
    assert isinstance(attempt.output, FoundIssue)
    found = attempt.output.issue
    assert (found.author, found.body, found.is_pull_request, found.labels) == (None, "", True, ())


async def test_comments_are_read_page_by_page_without_our_marker(
    connection: github.Connection, server: LocalGitHub, call_for: CallFor, issue: dict[str, Any]
) -> None:
    bound = connection.add_issue_comment()
    await bound.dispatch(call_for(bound), {**issue, "body": "ours"})
    for number in range(4):
        server.add_comment(f"comment {number}")
    bodies: list[list[str]] = []
    cursor: dict[str, Any] = {}
    for _ in range(3):
        attempt = await read(connection.list_issue_comments(), call_for, {**issue, "page_size": 2, **cursor})
        assert isinstance(attempt, BranchTaken)
        assert isinstance(attempt.output, IssueComments)
        bodies.append([one.body for one in attempt.output.comments])
        cursor = {"cursor": attempt.output.next_cursor}
    assert bodies == [["ours", "comment 0"], ["comment 1", "comment 2"], ["comment 3"]]
    assert cursor == {"cursor": None}


ODD = [
    None,
    7,
    {},
    {"id": "1"},
    {"id": True},
    {"id": 5, "created_at": 1},
    {"id": 5, "created_at": "", "html_url": None},
    {"id": 5, "created_at": "", "html_url": "", "body": "ok", "user": "octocat"},
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
async def test_one_odd_object_does_not_hide_the_other_comments(
    connection: github.Connection, server: LocalGitHub, call_for: CallFor, issue: dict[str, Any], odd: object
) -> None:
    good = server.add_comment("good").to_json()
    server.fail_next("GET comments", Answer(200, json.dumps([odd, good])))
    attempt = await read(connection.list_issue_comments(), call_for, issue)
    assert isinstance(attempt, BranchTaken)
    assert isinstance(attempt.output, IssueComments)
    assert [one.body for one in attempt.output.comments] == (["ok", "good"] if "'ok'" in repr(odd) else ["good"])


async def test_long_comments_are_cut_for_the_model(
    connection: github.Connection, server: LocalGitHub, call_for: CallFor, issue: dict[str, Any]
) -> None:
    for number in range(3):
        server.add_comment(f"comment {number} " + "x" * 15_000)
    attempt = await read(connection.list_issue_comments(), call_for, issue)
    text = render_for_model(LIST_ISSUE_COMMENTS, attempt)
    assert len(text) <= MODEL_TEXT_LIMIT
    assert all(f"comment {number} " in text for number in range(3))


REFUSED = '{"message":"no"}'
OUTCOMES: list[tuple[str, Fault, str, FailureKind]] = [
    ("404", Answer(404, REFUSED), "notFound", FailureKind.NOT_FOUND),
    ("410", Answer(410, REFUSED), "notFound", FailureKind.NOT_FOUND),
    ("301", Answer(301, REFUSED), "notFound", FailureKind.NOT_FOUND),
    ("401", Answer(401, REFUSED), "providerRejected", FailureKind.AUTHENTICATION),
    ("422", Answer(422, REFUSED), "providerRejected", FailureKind.VALIDATION),
    ("429", Answer(429, REFUSED), "retry", FailureKind.RATE_LIMIT),
    ("403 limit", Answer(403, REFUSED, headers={"Retry-After": "3"}), "retry", FailureKind.RATE_LIMIT),
    ("500", Answer(500, REFUSED), "retry", FailureKind.AVAILABILITY),
    ("dropped", DropAfterPost(), "retry", FailureKind.TRANSPORT),
    ("HTML", html(), "invalidResponse", FailureKind.PROTOCOL),
    ("a gateway's 404", html(404), "invalidResponse", FailureKind.PROTOCOL),
    ("304", Answer(304, ""), "invalidResponse", FailureKind.PROTOCOL),
    ("another shape", Answer(200, '[{"id":true}]'), "invalidResponse", FailureKind.PROTOCOL),
    ("truncated", TruncatedAnswer(), "invalidResponse", FailureKind.PROTOCOL),
    ("too large", Answer(200, '"' + "x" * 70_000 + '"'), "invalidResponse", FailureKind.RESPONSE_TOO_LARGE),
]


@pytest.mark.parametrize(("fault", "branch", "kind"), [row[1:] for row in OUTCOMES], ids=[row[0] for row in OUTCOMES])
async def test_a_read_that_fails_takes_its_branch_after_one_request(
    connection: github.Connection,
    server: LocalGitHub,
    call_for: CallFor,
    issue: dict[str, Any],
    *,
    fault: Fault,
    branch: str,
    kind: FailureKind,
) -> None:
    server.fail_always(fault)
    for bound in (connection.get_issue(), connection.list_issue_comments()):
        server.requests.clear()
        attempt = await read(bound, call_for, issue)
        assert isinstance(attempt, BranchTaken | Retry)
        found = attempt.branch if isinstance(attempt, BranchTaken) else "retry"
        assert (found, attempt.failure.kind if attempt.failure else None) == (branch, kind)
        assert len(server.requests) == 1


async def test_another_issue_than_the_one_asked_for_is_not_passed_on(
    connection: github.Connection, server: LocalGitHub, call_for: CallFor, issue: dict[str, Any]
) -> None:
    raw = {"number": 7, "title": "t", "state": "open", "created_at": "", "updated_at": "", "html_url": ""}
    server.fail_next("GET issue", Answer(200, json.dumps(raw)))
    attempt = await read(connection.get_issue(), call_for, issue)
    assert isinstance(attempt, BranchTaken)
    assert attempt.branch == "invalidResponse"
