"""Tells afterwards whether a comment was added, by the Call ID in its hidden line."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dexbridge.connectors.contract.attempts.dispatch import Inquiry
from dexbridge.connectors.contract.attempts.reconciliation import (
    CannotTell,
    FoundNotSent,
    FoundSent,
    Reconciliation,
    look_again,
)
from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.github.answers import has_next_page
from dexbridge.connectors.github.marker import call_id_of, mark
from dexbridge.connectors.github.models import AddedComment, AddIssueCommentInput
from dexbridge.connectors.github.payloads import comments_path, read_comments, to_comment
from dexbridge.connectors.github.rest_api import RestApi
from dexbridge.connectors.http.answer_branches import unread
from dexbridge.connectors.http.answer_table import JudgedAnswer, Proof
from dexbridge.connectors.http.page import Page, Raw
from dexbridge.connectors.http.pool import ANY_TIME

MAX_READS: Final = 20

LARGEST_PAGE: Final = 32
"""Comments of one read; a power of two, so that halves of it begin where it does. A comment can have 262,144 bytes."""

_READ_WITHIN: Final = timedelta(seconds=20)
"""No further page is begun after this, so that the look ends with its own sentence."""

_CLOCK_SLACK: Final = timedelta(seconds=60)
"""How far the window is opened, because GitHub's clock stamps the comments."""

_UNREAD: Final = "GitHub could not be searched for the comment."


async def reconcile(api: RestApi, inquiry: Inquiry[AddIssueCommentInput]) -> Reconciliation:
    """Reads the comments since the call was opened, and looks for its Call ID.

    GitHub counts its pages: a comment deleted between two reads moves those behind it forward, out of the page that is
    read next. So absence is concluded from several pages only when all comments before the last of them are still
    there once it was read.
    """
    search = _Search(api, inquiry)
    concluded = await search.read()
    if concluded is None and search.before_the_last:
        concluded = await search.read(again=True)
    if concluded is not None:
        return concluded
    if search.may_be_ours:
        return CannotTell("GitHub holds a comment that may be it, but does not show which call added it.")
    return FoundNotSent("GitHub does not hold the comment: it was not added, or was deleted since.")


@dataclass
class _Search:
    """One look: the size of the pages GitHub can give, and what was seen on those that were read."""

    api: RestApi
    inquiry: Inquiry[AddIssueCommentInput]
    size: int = LARGEST_PAGE
    may_be_ours: bool = False
    before_the_last: frozenset[int] = frozenset()
    reads_left: int = MAX_READS
    read_until: datetime = field(default_factory=lambda: datetime.now(UTC) + _READ_WITHIN)

    async def read(self, *, again: bool = False) -> Reconciliation | None:
        """Reads page by page; None: to the end, and ours is not there. Too large an answer halves the page.

        Args:
            again: read only as far as the comments before the last page; None means that all of them are still there.
        """
        token, since = self.inquiry.credential("token"), self._since()
        begin, seen, missing = 0, set[int](), set(self.before_the_last)
        while self.reads_left and (begin == 0 or datetime.now(UTC) < max(self.read_until, self.inquiry.give_up_at)):
            query = {"since": since, "per_page": str(self.size), "page": str(begin // self.size + 1)}
            answer = await self.api.get(token, ANY_TIME, comments_path(self.inquiry.input), query)
            page = self._see(answer)
            if isinstance(page, CannotTell) and begin > 0 and await self.inquiry.wait_out(page):
                continue
            self.reads_left -= 1
            if answer.kind is FailureKind.RESPONSE_TOO_LARGE and self.size > 1:
                self.size //= 2
                continue
            if not isinstance(page, Page):
                return page
            numbers = {raw["id"] for raw in page.objects}
            missing -= numbers
            if again and not missing:
                return None
            if not has_next_page(answer):
                self.before_the_last = frozenset(seen)
                return look_again(f"{_UNREAD} Comments were deleted while it was read.") if again else None
            seen |= numbers
            begin += self.size
        if again:
            return CannotTell("More comments were written meanwhile than could be read twice; look at the issue.")
        return CannotTell(
            f"More comments were written meanwhile than the {begin} that could be read; look at the issue."
        )

    def _see(self, answer: JudgedAnswer) -> Page | FoundSent | CannotTell:
        """What one page tells, or the page when the comment is not on it."""
        if answer.proof is not Proof.DONE:
            return unread(answer, _UNREAD)
        if answer.clock is not None and abs(datetime.now(UTC) - answer.clock) >= _CLOCK_SLACK:
            return CannotTell("This machine's clock and GitHub's are too far apart to look in the right window.")
        page = read_comments(answer.payload)
        if page is None:
            return look_again(f"{_UNREAD} Its answer does not hold the comments it should.")
        for raw in page.objects:
            found = to_comment(raw)
            if found is not None and _is_ours(raw, self.inquiry):
                receipt = self.inquiry.receipt(found.comment_id, request_id=answer.request_id)
                return FoundSent(AddedComment(comment=found), receipt)
            self.may_be_ours = self.may_be_ours or _may_be_ours(raw, self.inquiry)
        self.may_be_ours = self.may_be_ours or page.unreadable > 0
        return page

    def _since(self) -> str:
        return (self.inquiry.opened_at - _CLOCK_SLACK).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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
