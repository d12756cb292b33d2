"""How a comment is added, and how it is found again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dexbridge.connectors.attempt import Attempt
from dexbridge.connectors.dispatch import Dispatch, Inquiry
from dexbridge.connectors.failure import FailureKind
from dexbridge.connectors.github.advice import advice_for
from dexbridge.connectors.github.answers import Proof
from dexbridge.connectors.github.marker import call_id_of, mark
from dexbridge.connectors.github.models import AddedComment, AddIssueCommentInput
from dexbridge.connectors.github.payloads import Raw, raw_comments, to_comment
from dexbridge.connectors.github.rest_api import RestApi
from dexbridge.connectors.http_pool import ANY_TIME
from dexbridge.connectors.reconciliation import CannotTell, FoundNotSent, FoundSent, Reconciliation

MAX_READS: Final = 5

_PAGE: Final = 30
"""Comments of 65,536 characters: a page of them stays under the default maxResponseBytes."""

_CLOCK_SLACK: Final = timedelta(seconds=60)
"""How far the window is opened, because GitHub's clock stamps the comments."""


def _path(given: AddIssueCommentInput) -> str:
    return f"/repos/{given.repository}/issues/{given.issue_number}/comments"


async def add_issue_comment(api: RestApi, dispatch: Dispatch[AddIssueCommentInput]) -> Attempt:
    """Adds the dispatch's comment: one POST."""
    given = dispatch.input
    body = {"body": mark(given.body, dispatch.call.call_id)}
    answer = await api.post(dispatch.credential("token"), dispatch.leave, _path(given), body)
    if answer.proof is Proof.DONE:
        added = to_comment(answer.payload)
        if added is None:
            return dispatch.uncertain(FailureKind.PROTOCOL, "GitHub said created, but named no comment.")
        receipt = dispatch.receipt(added.comment_id, request_id=answer.request_id)
        return dispatch.took("added", AddedComment(comment=added), receipt)
    if answer.proof is Proof.NOT_DONE_YET:
        return dispatch.retry(answer.kind, answer.reason, answer.delay)
    if answer.proof is Proof.NOT_DONE_REFUSED:
        kind, advice = advice_for(answer)
        return dispatch.failed("providerRejected", kind, advice, dispatch.receipt(request_id=answer.request_id))
    return dispatch.uncertain(answer.kind, answer.reason)


async def reconcile(api: RestApi, inquiry: Inquiry[AddIssueCommentInput]) -> Reconciliation:
    """Reads the comments since the call was opened, and looks for its Call ID."""
    given = inquiry.input
    token = inquiry.credential("token")
    since = (inquiry.opened_at - _CLOCK_SLACK).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    may_be_ours = False
    for page in range(1, MAX_READS + 1):
        query = {"since": since, "per_page": str(_PAGE), "page": str(page)}
        answer = await api.get(token, ANY_TIME, _path(given), query)
        if answer.proof is not Proof.DONE:
            why = advice_for(answer)[1] if answer.proof is Proof.NOT_DONE_REFUSED else answer.reason
            return CannotTell(f"GitHub could not be searched for the comment. {why}")
        if answer.clock is not None and abs(datetime.now(UTC) - answer.clock) >= _CLOCK_SLACK:
            return CannotTell("This machine's clock and GitHub's are too far apart to look in the right window.")
        comments = raw_comments(answer.payload)
        if comments is None:
            return CannotTell("GitHub's answer does not hold the comments it should.")
        for raw in comments:
            found = to_comment(raw)
            if found is not None and call_id_of(_body(raw)) == inquiry.call.call_id:
                receipt = inquiry.receipt(found.comment_id, request_id=answer.request_id)
                return FoundSent(AddedComment(comment=found), receipt)
            # Someone may have edited the marker away.
            may_be_ours = may_be_ours or (call_id_of(_body(raw)) is None and _same(_body(raw), given.body))
        if not answer.has_next:
            if may_be_ours:
                return CannotTell("GitHub holds a comment like it, but it does not show which call added it.")
            return FoundNotSent("GitHub does not hold the comment: it was not added.")
    return CannotTell(f"More comments were written meanwhile than {MAX_READS} pages hold; look at the issue.")


def _body(raw: Raw) -> str:
    body: Any = raw.get("body")
    return body if isinstance(body, str) else ""


def _same(found: str, sent: str) -> bool:
    return found.split() == sent.split()
