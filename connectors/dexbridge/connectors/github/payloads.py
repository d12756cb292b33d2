"""Where comments are at GitHub, and how issues and comments are read out of its answers."""

from __future__ import annotations

from typing import Any, cast

from pydantic import ValidationError

from dexbridge.connectors.github.marker import unmark
from dexbridge.connectors.github.models import AddIssueCommentInput, Issue, IssueComment, ListIssueCommentsInput
from dexbridge.connectors.http.page import Page, Raw, page_of


def comments_path(given: AddIssueCommentInput | ListIssueCommentsInput) -> str:
    """Where the comments of an issue are."""
    return f"/repos/{given.repository}/issues/{given.issue_number}/comments"


def to_issue(repository: str, payload: Any) -> Issue | None:
    """One issue in our form; None when the payload is not one."""
    raw = _object(payload)
    if raw is None:
        return None
    labels: object = raw.get("labels")
    try:
        return Issue.model_validate(
            {
                "repository": repository,
                "issue_number": raw.get("number"),
                "title": raw.get("title"),
                "state": raw.get("state"),
                "state_reason": raw.get("state_reason"),
                "is_pull_request": "pull_request" in raw,
                "is_locked": raw.get("locked") is True,
                "author": _login(raw),
                "labels": [_label(label) for label in cast(list[object], labels)] if isinstance(labels, list) else [],
                "comment_count": raw.get("comments", 0),
                "created_at": raw.get("created_at"),
                "updated_at": raw.get("updated_at"),
                "url": raw.get("html_url"),
                "body": raw.get("body") or "",
            }
        )
    except ValidationError:
        return None


def read_comments(payload: Any) -> Page | None:
    """The comments of a page; None when there are none to be read, though the answer should hold some."""
    return page_of(payload, lambda raw: to_comment(raw) is not None)


def to_comment(payload: Any) -> IssueComment | None:
    """One comment in our form; None when the payload is not one."""
    raw = _object(payload)
    number: object = raw.get("id") if raw is not None else None
    if raw is None or not isinstance(number, int) or isinstance(number, bool):
        return None
    try:
        return IssueComment.model_validate(
            {
                "comment_id": str(number),
                "author": _login(raw),
                "created_at": raw.get("created_at"),
                "url": raw.get("html_url"),
                "body": unmark(raw["body"]) if isinstance(raw.get("body"), str) else "",
            }
        )
    except ValidationError:
        return None


def _object(payload: object) -> Raw | None:
    return cast(Raw, payload) if isinstance(payload, dict) else None


def _login(raw: Raw) -> str | None:
    user = _object(raw.get("user"))
    login: object = user.get("login") if user is not None else None
    return login if isinstance(login, str) else None


def _label(label: object) -> object:
    raw = _object(label)
    return raw.get("name") if raw is not None else label
