"""Tells afterwards whether a comment was added, by the Call ID in its hidden line."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dexbridge.connectors.answer_branches import unread
from dexbridge.connectors.answer_table import Proof
from dexbridge.connectors.dispatch import Inquiry
from dexbridge.connectors.failure import FailureKind
from dexbridge.connectors.github.answers import has_next_page
from dexbridge.connectors.github.marker import call_id_of, mark
from dexbridge.connectors.github.models import AddedComment, AddIssueCommentInput
from dexbridge.connectors.github.payloads import Raw, comments_path, raw_comments, to_comment
from dexbridge.connectors.github.rest_api import RestApi
from dexbridge.connectors.http_pool import ANY_TIME
from dexbridge.connectors.reconciliation import CannotTell, FoundNotSent, FoundSent, Reconciliation, look_again

MAX_READS: Final = 20

LARGEST_PAGE: Final = 32
"""Comments of one read; a power of two, so that halves of it begin where it does. A comment can have 262,144 bytes."""

_READ_WITHIN: Final = timedelta(seconds=20)
"""No further page is begun after this, so that the look ends with its own sentence."""

_CLOCK_SLACK: Final = timedelta(seconds=60)
"""How far the window is opened, because GitHub's clock stamps the comments."""

_UNREAD: Final = "GitHub could not be searched for the comment."


async def reconcile(api: RestApi, inquiry: Inquiry[AddIssueCommentInput]) -> Reconciliation:
    """Reads the comments since the call was opened, and looks for its Call ID. Too large an answer halves the page."""
    token = inquiry.credential("token")
    since = (inquiry.opened_at - _CLOCK_SLACK).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = comments_path(inquiry.input)
    stop_at = time.monotonic() + _READ_WITHIN.total_seconds()
    size, seen, may_be_ours = LARGEST_PAGE, 0, False
    for _ in range(MAX_READS):
        query = {"since": since, "per_page": str(size), "page": str(seen // size + 1)}
        answer = await api.get(token, ANY_TIME, path, query)
        if answer.kind is FailureKind.RESPONSE_TOO_LARGE and size > 1:
            size //= 2
            continue
        if answer.proof is not Proof.DONE:
            return unread(answer, _UNREAD)
        if answer.clock is not None and abs(datetime.now(UTC) - answer.clock) >= _CLOCK_SLACK:
            return CannotTell("This machine's clock and GitHub's are too far apart to look in the right window.")
        comments = raw_comments(answer.payload)
        if comments is None:
            return look_again(f"{_UNREAD} Its answer does not hold the comments it should.")
        for raw in comments:
            found = to_comment(raw)
            if found is not None and _is_ours(raw, inquiry):
                receipt = inquiry.receipt(found.comment_id, request_id=answer.request_id)
                return FoundSent(AddedComment(comment=found), receipt)
            may_be_ours = may_be_ours or _may_be_ours(raw, inquiry)
        if not has_next_page(answer):
            return _absent(may_be_ours=may_be_ours)
        seen += size
        if time.monotonic() >= stop_at:
            break
    return CannotTell(f"More comments were written meanwhile than the {seen} that could be read; look at the issue.")


def _absent(*, may_be_ours: bool) -> Reconciliation:
    if may_be_ours:
        return CannotTell("GitHub holds a comment that may be it, but does not show which call added it.")
    return FoundNotSent("GitHub does not hold the comment: it was not added, or was deleted since.")


def _is_ours(raw: Raw, inquiry: Inquiry[AddIssueCommentInput]) -> bool:
    body, call_id = _body(raw), inquiry.call.call_id
    marked = call_id_of(body)
    # Somebody may have written on below the hidden line.
    return marked == call_id or (
        marked is None and _flat(body).startswith(_flat(mark(inquiry.input.body, call_id)) + " ")
    )


def _may_be_ours(raw: Raw, inquiry: Inquiry[AddIssueCommentInput]) -> bool:
    """Whether an edit may have taken our hidden line away, or moved it."""
    body = _body(raw)
    if call_id_of(body) is not None:
        return False
    return inquiry.call.call_id in body or _flat(body) == _flat(inquiry.input.body) or _was_edited(raw, inquiry)


def _was_edited(raw: Raw, inquiry: Inquiry[AddIssueCommentInput]) -> bool:
    """Whether a comment of the time of our request was changed since."""
    created, updated = raw.get("created_at"), raw.get("updated_at")
    if not isinstance(created, str) or not isinstance(updated, str) or created == updated:
        return False
    try:
        written = datetime.fromisoformat(created)
        return inquiry.opened_at - _CLOCK_SLACK <= written <= inquiry.ended_by + _CLOCK_SLACK
    except (ValueError, TypeError):
        return True


def _body(raw: Raw) -> str:
    body: Any = raw.get("body")
    return body if isinstance(body, str) else ""


def _flat(text: str) -> str:
    return " ".join(text.split())
