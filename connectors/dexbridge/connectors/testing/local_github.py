"""A local GitHub over real HTTP: issues and their comments, for tests and trying by hand.

    async with LocalGitHub() as github:
        connection configuration: {"endpoint": github.url}, credentials: {"token": github.token}

By hand: `python -m dexbridge.connectors.testing.local_github --port 8791`.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dexbridge.connectors.testing.faults import Answered
from dexbridge.connectors.testing.local_server import LocalServer, ReceivedRequest

SEEDED_REPOSITORY: Final = "octo-org/octo-repo"
SEEDED_ISSUE: Final = 42
LOCKED_ISSUE: Final = 43

_ISSUE: Final = re.compile(r"/repos/([^/]+/[^/]+)/issues/(\d+)(/comments)?")


@dataclass(frozen=True)
class Comment:
    """One comment as GitHub keeps it."""

    id: int
    repository: str
    issue: int
    body: str
    author: str = "dexbridge-bot"
    created_at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    updated_at: datetime | None = None

    @property
    def changed_at(self) -> datetime:
        """When it was written or last edited."""
        return self.updated_at or self.created_at

    def to_json(self) -> dict[str, Any]:
        """The comment object of GitHub's REST API."""
        page = f"https://github.com/{self.repository}/issues/{self.issue}"
        return {
            "id": self.id,
            "body": self.body,
            "user": {"login": self.author},
            "created_at": _instant(self.created_at),
            "updated_at": _instant(self.changed_at),
            "html_url": f"{page}#issuecomment-{self.id}",
        }


class LocalGitHub(LocalServer):
    """A GitHub that keeps the comments it is given and has the faults it is told to have.

    It holds the issues SEEDED_ISSUE and LOCKED_ISSUE of SEEDED_REPOSITORY. `fail_next` calls requests
    `GET issue`, `GET comments`, `POST comments`, `GET /user`.

    Args:
        port: 0 takes a free one.
        token: the token it accepts.
        scopes: those of a classic token; None for a fine-grained one, which names none.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        token: str = "ghp_localGitHubTokenForTests000000000000",  # noqa: S107  (a made-up value of a local server)
        scopes: tuple[str, ...] | None = ("public_repo",),
    ) -> None:
        super().__init__({"token": token}, port=port)
        self.scopes = scopes
        self.comments: list[Comment] = []
        self._comment_numbers = itertools.count(1_000_001)
        self._request_numbers = itertools.count(1)

    @property
    def token(self) -> str:
        """The token it accepts."""
        return self.tokens["token"]

    def add_comment(
        self, body: str, *, author: str = "octocat", issue: int = SEEDED_ISSUE, age: timedelta = timedelta(0)
    ) -> Comment:
        """Adds a comment as somebody else writes it, or wrote it so long ago."""
        number, created = next(self._comment_numbers), datetime.now(UTC) - age
        comment = Comment(number, SEEDED_REPOSITORY, issue, body, author, created)
        self.comments.append(comment)
        return comment

    def edit_comment(self, comment: Comment, body: str) -> Comment:
        """Changes a comment's text, as a maintainer or a bot does, a few seconds from now."""
        edited = replace(comment, body=body, updated_at=datetime.now(UTC) + timedelta(seconds=5))
        self.comments[self.comments.index(comment)] = edited
        return edited

    def name_of(self, verb: str, path: str) -> str:
        """`GET issue`, `GET comments`, `POST comments`, or verb and path."""
        found = _ISSUE.fullmatch(path)
        return f"{verb} {('comments' if found[3] else 'issue') if found else path}"

    def not_carried_out(self) -> Answered:
        return self._with_headers(Answered(200, {}))

    def carry_out(self, request: ReceivedRequest) -> Answered:
        return self._with_headers(self._answer_to(request))

    def _with_headers(self, answered: Answered) -> Answered:
        headers = {**answered.headers, "X-GitHub-Request-Id": f"C0DE:{next(self._request_numbers):06X}"}
        if self.scopes is not None:
            headers["X-OAuth-Scopes"] = ", ".join(self.scopes)
        return replace(answered, headers=headers)

    def _answer_to(self, request: ReceivedRequest) -> Answered:
        if not request.is_authorised:
            return _refusal(401, {"none": "Requires authentication", "wrong": "Bad credentials"}[request.token_kind])
        if request.path == "/user":
            return Answered(200, {"login": "dexbridge-bot", "id": 1})
        if request.path == "/rate_limit":
            return Answered(200, {"resources": {"core": {"limit": 5000, "remaining": 4999}}})
        found = _ISSUE.fullmatch(request.path)
        if found is None or found[1].lower() != SEEDED_REPOSITORY or int(found[2]) not in {SEEDED_ISSUE, LOCKED_ISSUE}:
            return _refusal(404, "Not Found")
        number = int(found[2])
        if found[3] is None:
            return Answered(200, self._issue(number))
        return self._post(number, request.body) if request.verb == "POST" else self._page(request, number)

    def _issue(self, number: int) -> dict[str, Any]:
        return {
            "number": number,
            "title": "The lamp flickers",
            "state": "open",
            "state_reason": None,
            "locked": number == LOCKED_ISSUE,
            "user": {"login": "octocat"},
            "labels": [{"name": "bug"}, "help wanted"],
            "comments": sum(comment.issue == number for comment in self.comments),
            "created_at": "2026-01-01T08:00:00Z",
            "updated_at": "2026-01-01T09:00:00Z",
            "html_url": f"https://github.com/{SEEDED_REPOSITORY}/issues/{number}",
            "body": "It flickers since Monday.",
        }

    def _post(self, number: int, body: Mapping[str, Any]) -> Answered:
        text = body.get("body")
        if number == LOCKED_ISSUE:
            return _refusal(403, "Unable to create comment because issue is locked.")
        if not isinstance(text, str) or not text.strip() or len(text) > 65_536:
            errors = [{"resource": "IssueComment", "code": "unprocessable", "field": "data"}]
            return _refusal(422, "Validation Failed", errors=errors)
        return Answered(201, self.add_comment(text, author="dexbridge-bot", issue=number).to_json())

    def _page(self, request: ReceivedRequest, number: int) -> Answered:
        query = request.body
        since = str(query.get("since", ""))
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        rows = [c for c in self.comments if c.issue == number and _instant(c.changed_at) >= since]
        shown = rows[(page - 1) * size : page * size]
        headers: dict[str, str] = {}
        if len(rows) > page * size:
            headers["Link"] = f'<{self.url}{request.path}?page={page + 1}>; rel="next"'
        return Answered(200, [comment.to_json() for comment in shown], headers)


def _instant(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _refusal(status: int, message: str, **more: Any) -> Answered:
    documentation = "https://docs.github.com/rest"
    return Answered(status, {"message": message, "documentation_url": documentation, "status": str(status), **more})


async def _serve_until_stopped(github: LocalGitHub) -> None:
    async with github:
        print(f"Local GitHub: endpoint {github.url}, token {github.token}")
        print(f"Repository {SEEDED_REPOSITORY}, issue {SEEDED_ISSUE}. What arrived: {github.url}/_admin/requests")
        await asyncio.Event().wait()


def main() -> None:
    """Runs a local GitHub until it is interrupted."""
    parser = argparse.ArgumentParser(description="A local GitHub for trying by hand.")
    parser.add_argument("--port", type=int, default=8791, help="where to listen on 127.0.0.1")
    port: int = parser.parse_args().port
    try:
        asyncio.run(_serve_until_stopped(LocalGitHub(port=port)))
    except KeyboardInterrupt:
        print("stopped")


if __name__ == "__main__":
    main()
