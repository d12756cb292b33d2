"""What becomes of a comment, whatever GitHub or what stands before it answers."""

from __future__ import annotations

import json
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
    github,
    render_for_model,
)
from dexbridge.connectors.github import AddedComment
from dexbridge.connectors.github.operations import ADD_ISSUE_COMMENT
from dexbridge.connectors.testing import MemoryConnection
from dexbridge.connectors.testing.faults import (
    Answer,
    AnswerLate,
    DropAfterPost,
    DropBeforeRead,
    DropWithoutPost,
    Fault,
    OversizedAnswer,
    TruncatedAnswer,
    html,
    redirect,
)
from dexbridge.connectors.testing.local_github import LOCKED_ISSUE, LocalGitHub

CommentOn = Callable[..., Awaitable[Attempt]]
CallFor = Callable[[BoundOperation], Call]
POST = "POST comments"


def refusal(
    status: int, message: str = "words of the provider", headers: dict[str, str] | None = None, **more: Any
) -> Answer:
    return Answer(status, json.dumps({"message": message, **more}), headers=headers or {})


async def test_a_comment_is_added_with_its_marker_and_a_receipt(
    comment: CommentOn, server: LocalGitHub, connection: github.Connection, call_for: CallFor
) -> None:
    attempt = await comment()
    (kept,) = server.comments
    call_id = call_for(connection.add_issue_comment()).call_id
    assert isinstance(attempt, BranchTaken)
    assert attempt.branch == "added"
    assert isinstance(attempt.output, AddedComment)
    assert (attempt.output.comment.comment_id, attempt.output.comment.body) == (str(kept.id), "On its way.")
    assert attempt.output.comment.url.endswith(f"#issuecomment-{kept.id}")
    assert kept.body == f"On its way.\n\n<!-- dexbridge-call: {call_id} -->"
    assert attempt.receipt is not None
    assert (attempt.receipt.call_id, attempt.receipt.idempotency_key) == (call_id, call_id)
    assert (attempt.receipt.provider_object_id, attempt.receipt.provider_request_id) == (str(kept.id), "C0DE:000001")
    (request,) = server.requests
    assert (request.verb, request.path) == ("POST", "/repos/octo-org/octo-repo/issues/42/comments")
    assert request.headers["accept"] == "application/vnd.github+json"
    assert request.headers["x-github-api-version"] == "2022-11-28"
    assert request.headers["user-agent"] == "dexbridge"


@pytest.mark.parametrize(
    "body",
    [
        "if a < b && b > c:",
        "```\na fence\n```",
        "```inline``` text",
        "<!-- an open comment",
        "é ✓ \t\n  indented\n\n",
        "/command first",
        f"<!-- dexbridge-call: {'0' * 36} -->\n\nfirst\n\n<!-- dexbridge-call: {'1' * 36} -->",
        f"```\nan open fence\n\n<!-- dexbridge-call: {'1' * 36} -->",
    ],
)
async def test_a_comment_begins_with_its_text_as_it_was_written(
    comment: CommentOn, server: LocalGitHub, connection: github.Connection, call_for: CallFor, body: str
) -> None:
    attempt = await comment(body=body)
    (kept,) = server.comments
    call_id = call_for(connection.add_issue_comment()).call_id
    assert kept.body == f"{body}\n\n<!-- dexbridge-call: {call_id} -->"
    assert isinstance(attempt, BranchTaken)
    assert isinstance(attempt.output, AddedComment)
    assert attempt.output.comment.body == body


@pytest.mark.parametrize("body", ["```\nan open fence", "- one\n  ~~~ py\n  x", "~~~\n```\n", "````\n```"])
async def test_a_fence_left_open_does_not_show_the_hidden_line(
    comment: CommentOn, server: LocalGitHub, body: str
) -> None:
    attempt = await comment(body=body)
    (kept,) = server.comments
    assert kept.body.startswith("<!-- dexbridge-call: ")
    assert kept.body.partition("-->\n\n")[2] == body
    assert isinstance(attempt, BranchTaken)
    assert isinstance(attempt.output, AddedComment)
    assert attempt.output.comment.body == body


async def test_65000_characters_are_one_comment(
    comment: CommentOn, server: LocalGitHub, held: MemoryConnection
) -> None:
    held.configuration = {"endpoint": server.url}
    await comment(body="x" * 65_000)
    assert [len(kept.body) < 65_536 for kept in server.comments] == [True]


CREATED = '{"id":1,"body":"x","created_at":"2026-01-01T00:00:00Z","html_url":"https://github.com/x"}'


def refused_and_created(status: int, headers: dict[str, str]) -> Answer:
    """A refusal in GitHub's form that nevertheless shows the comment."""
    return Answer(status, CREATED.replace("{", '{"message":"no",', 1), headers=headers, posted=True)


UNCLEAR: list[tuple[str, Fault, int]] = [
    ("added, then dropped", DropAfterPost(), 1),
    ("dropped, nothing added", DropWithoutPost(), 0),
    ("dropped before the body was read", DropBeforeRead(), 0),
    ("added, answered after the timeout", AnswerLate(0.8), 1),
    ("HTTP 500 with GitHub's JSON", refusal(500, "Server Error"), 0),
    ("HTTP 502 with HTML", html(502), 0),
    ("HTTP 503 that says created", Answer(503, CREATED, posted=True), 1),
    ("HTTP 408", refusal(408), 0),
    ("HTML as created", html(201, posted=True), 1),
    ("HTML as HTTP 200", html(posted=True), 1),
    ("HTTP 200 with the comment", Answer(200, CREATED, posted=True), 1),
    ("HTTP 202", Answer(202, "{}", posted=True), 1),
    ("HTTP 204", Answer(204, "", posted=True), 1),
    ("created, empty", Answer(201, "", posted=True), 1),
    ("created, a list", Answer(201, "[]", posted=True), 1),
    ("created, id as text", Answer(201, CREATED.replace('"id":1', '"id":"1"'), posted=True), 1),
    ("created, without id", Answer(201, '{"body":"x"}', posted=True), 1),
    ("created, half of it", Answer(201, CREATED[:20], posted=True), 1),
    ("truncated", TruncatedAnswer(), 1),
    ("oversized", OversizedAnswer(100_000), 1),
    ("nested too deep", Answer(201, "[" * 30_000, posted=True), 1),
    ("a gateway's 403", html(403), 0),
    ("a gateway's 404", Answer(404, "not here"), 0),
    ("a refusal without a message", Answer(422, '{"error":"no"}'), 0),
    ("a redirect of a gateway", redirect("/login"), 0),
    ("a redirect that added", redirect("/repos/x/y", posted=True), 1),
    ("an unknown status", refusal(418), 0),
    ("HTTP 429 with the comment", Answer(429, CREATED, posted=True), 1),
    ("created, with a key twice", Answer(201, CREATED.replace("{", '{"id":2,', 1), posted=True), 1),
    ("a refusal with a key twice", Answer(422, '{"message":"no","message":"yes"}'), 0),
    ("HTTP 429 with half the comment", Answer(429, CREATED[:20], posted=True), 1),
    *(
        (f"HTTP {status} with a message and the comment", refused_and_created(status, headers), 1)
        for status, headers in [
            (429, {"Retry-After": "1"}),
            (403, {"Retry-After": "1"}),
            (403, {"X-RateLimit-Remaining": "0"}),
            (403, {}),
            (301, {}),
            (401, {}),
            (404, {}),
            (422, {}),
        ]
    ),
    ("a limit and an ID", refusal(403, "You have exceeded a secondary rate limit.", id=1), 0),
    ("a limit and a link", refusal(429, html_url="https://github.com/x"), 0),
]


@pytest.mark.parametrize(("fault", "added"), [row[1:] for row in UNCLEAR], ids=[row[0] for row in UNCLEAR])
async def test_an_unclear_answer_is_uncertain_and_one_request_was_made(
    comment: CommentOn, server: LocalGitHub, fault: Fault, added: int
) -> None:
    server.fail_next(POST, fault)
    attempt = await comment()
    assert isinstance(attempt, Uncertain), attempt
    assert [request.method for request in server.requests] == [POST]
    assert len(server.comments) == added
    assert "outcome is unknown" in render_for_model(ADD_ISSUE_COMMENT, attempt)


def _in(seconds: int) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def _reset(seconds: int, *, clock: int = 0) -> dict[str, str]:
    """Headers of a used-up limit, sent by a GitHub whose clock is `clock` seconds ahead of ours."""
    return {
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(int(_in(seconds + clock).timestamp())),
        "Date": format_datetime(_in(clock), usegmt=True),
    }


TOO_QUICK = {"resource": "IssueComment", "code": "custom", "field": "body", "message": "was submitted too quickly"}
LIMITED: list[tuple[str, Callable[[], Fault], tuple[float, float] | None]] = [
    ("429 with 2 s", lambda: refusal(429, headers={"Retry-After": "2"}), (2, 2)),
    ("403 with 2 s", lambda: refusal(403, headers={"Retry-After": "2"}), (2, 2)),
    ("429 with a date", lambda: refusal(429, headers={"Retry-After": format_datetime(_in(30), usegmt=True)}), (28, 31)),
    ("403 until the reset", lambda: refusal(403, headers=_reset(40)), (38, 43)),
    ("429 until the reset", lambda: refusal(429, headers=_reset(40)), (38, 43)),
    ("a reset by GitHub's clock", lambda: refusal(403, headers=_reset(40, clock=3_000)), (38, 43)),
    ("at most an hour", lambda: refusal(403, headers=_reset(9_000)), (3_600, 3_600)),
    ("a reset in the past", lambda: refusal(403, headers=_reset(-40)), None),
    ("rubbish", lambda: refusal(403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"}), None),
    ("a secondary limit", lambda: refusal(403, "You have exceeded a secondary rate limit."), (60, 60)),
    ("abuse detection", lambda: refusal(403, "You have triggered an abuse detection mechanism."), (60, 60)),
    ("429 without anything", lambda: refusal(429), (60, 60)),
    ("too many comments", lambda: refusal(422, "Validation Failed", errors=[TOO_QUICK]), (60, 60)),
    ("too many, as a text", lambda: refusal(422, "Validation Failed", errors=["was submitted too quickly"]), (60, 60)),
    ("too many, in the message", lambda: refusal(403, "Comment was submitted too quickly"), (60, 60)),
]


@pytest.mark.parametrize(("fault", "delay"), [row[1:] for row in LIMITED], ids=[row[0] for row in LIMITED])
async def test_a_limit_is_a_retry_after_its_delay(
    comment: CommentOn, server: LocalGitHub, fault: Callable[[], Fault], delay: tuple[float, float] | None
) -> None:
    server.fail_next(POST, fault())
    attempt = await comment()
    assert isinstance(attempt, Retry)
    assert attempt.failure.kind is FailureKind.RATE_LIMIT
    assert server.comments == []
    if delay is None:
        assert attempt.delay is None
    else:
        assert attempt.delay is not None
        assert delay[0] <= attempt.delay.total_seconds() <= delay[1]
    assert isinstance(await comment(), BranchTaken)
    assert len(server.comments) == 1


async def test_an_issue_that_github_does_not_know_everywhere_yet_is_tried_again(
    comment: CommentOn, server: LocalGitHub
) -> None:
    early = {"message": "Could not resolve to a node with the global id of 'I_kwDO'"}
    server.fail_next(POST, refusal(422, "Validation Failed", errors=[early]))
    attempt = await comment()
    assert isinstance(attempt, Retry)
    assert (attempt.failure.kind, attempt.delay) == (FailureKind.AVAILABILITY, None)
    assert "nothing was done" in render_for_model(ADD_ISSUE_COMMENT, attempt)
    assert isinstance(await comment(), BranchTaken)
    assert len(server.comments) == 1


SSO = {"X-GitHub-SSO": "required; url=https://github.com/orgs/octo-org/sso?authorization_request=A1"}
REFUSED: list[tuple[Answer, FailureKind, str]] = [
    (refusal(401, "Bad credentials"), FailureKind.AUTHENTICATION, "token"),
    (refusal(403, "Resource not accessible by personal access token"), FailureKind.AUTHORIZATION, "permission Issues"),
    (refusal(403, "Resource protected by organization SAML", SSO), FailureKind.AUTHORIZATION, "single sign-on"),
    (refusal(403, "Repository was archived so is read-only."), FailureKind.CONFLICT, "archived"),
    (refusal(403, "User is blocked"), FailureKind.AUTHORIZATION, "blocked"),
    (refusal(403, "Repository access blocked", block={"reason": "tos"}), FailureKind.AUTHORIZATION, "use another one"),
    (
        refusal(
            403,
            "Although you appear to have the correct authorization credentials, the `octo-org` organization has an IP "
            "allow list enabled, and your IP address is not permitted to access this resource.",
        ),
        FailureKind.AUTHORIZATION,
        "IP addresses",
    ),
    (
        refusal(
            403,
            "The 'octo-org' organization forbids access via a fine-grained personal access tokens if the token's "
            "lifetime is greater than 366 days.",
        ),
        FailureKind.AUTHORIZATION,
        "shorter lifetime",
    ),
    (
        refusal(403, "`octo-org` forbids access via a personal access token (classic)."),
        FailureKind.AUTHORIZATION,
        "another kind",
    ),
    (
        refusal(403, "Resource protected by organization SAML enforcement. You must grant your OAuth token access."),
        FailureKind.AUTHORIZATION,
        "single sign-on",
    ),
    (refusal(403, "Unable to create comment because issue is locked."), FailureKind.CONFLICT, "ask a maintainer"),
    (refusal(403, "Repository has been locked for migration."), FailureKind.CONFLICT, "while it is moved"),
    (refusal(403, "Sorry. Your account was suspended."), FailureKind.AUTHORIZATION, "suspended"),
    (refusal(403, "Must have admin rights to Repository."), FailureKind.AUTHORIZATION, "permission Issues"),
    (refusal(404, "Not Found"), FailureKind.NOT_FOUND, "repository and issue_number"),
    (refusal(410, "Issues are disabled for this repo"), FailureKind.NOT_FOUND, "switched off"),
    (refusal(301, "Moved Permanently", {"Location": "/repositories/1"}), FailureKind.NOT_FOUND, "renamed"),
    (refusal(307, "Temporary Redirect", {"Location": "/repositories/1"}), FailureKind.NOT_FOUND, "renamed"),
    (refusal(451), FailureKind.AUTHORIZATION, "legal"),
]
UNEXPLAINED: list[tuple[Answer, FailureKind, str]] = [
    (refusal(403, "The\u202e moon\n is\tfull"), FailureKind.AUTHORIZATION, 'GitHub says: "The moon is full"'),
    (refusal(403, f"See https://x.example/a?t={'k1' * 9} and {'Ab' * 9}."), FailureKind.AUTHORIZATION,
     '"See https://x.example/a and [redacted]"'),
    (refusal(403, "the lamp " * 60), FailureKind.AUTHORIZATION, 'lamp t…"'),
    (refusal(422, "Validation Failed", errors=[{"field": "body", "code": "too_long"}]), FailureKind.VALIDATION,
     "(body too_long)"),
    (refusal(422, errors=[{"field": "a b", "code": "<x>"}, "too long", 1]), FailureKind.VALIDATION,
     '"words of the provider. too long"'),
    (refusal(409), FailureKind.CONFLICT, "words of the provider"),
    (refusal(415), FailureKind.PROVIDER_REJECTION, "words of the provider"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "kind", "helps", "quoted"),
    [*((*row, False) for row in REFUSED), *((*row, True) for row in UNEXPLAINED)],
    ids=[f"{i} {row[0].status}" for i, row in enumerate([*REFUSED, *UNEXPLAINED])],
)
async def test_a_refusal_names_the_status_and_what_helps(
    comment: CommentOn, server: LocalGitHub, *, fault: Answer, kind: FailureKind, helps: str, quoted: bool
) -> None:
    server.fail_next(POST, fault)
    attempt = await comment()
    assert isinstance(attempt, BranchTaken)
    assert (attempt.branch, attempt.output) == ("providerRejected", None)
    assert attempt.failure is not None
    assert attempt.failure.kind is kind
    text = render_for_model(ADD_ISSUE_COMMENT, attempt)
    assert f"HTTP {fault.status}" in text
    assert helps in text
    assert ("GitHub says" in text) == quoted
    assert quoted or json.loads(fault.body)["message"] not in text
    assert len(server.requests) == 1


async def test_what_the_local_github_itself_refuses(
    comment: CommentOn, held: MemoryConnection, server: LocalGitHub
) -> None:
    locked, lost = await comment(issue_number=LOCKED_ISSUE), await comment(issue_number=404)
    held.set_credential("token", "ghp_revokedMeanwhile0000000000")
    stale = await comment()
    held.set_credential("token", None)
    absent = await comment()
    held.set_credential("token", "ghp_with-a-line\nbreak: yes")
    broken = await comment()
    texts = [
        a.failure.message for a in (locked, lost, stale, absent, broken) if isinstance(a, BranchTaken) and a.failure
    ]
    assert ["locked" in texts[0], "404" in texts[1], "401" in texts[2]] == [True] * 3
    assert "github/engineering has no token" in texts[3]
    assert "line break" in texts[4]
    assert "ghp_" not in "".join(texts)
    assert server.comments == []
    assert len(server.requests) == 3
