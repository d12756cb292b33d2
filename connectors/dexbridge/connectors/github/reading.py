"""How GitHub's two Queries read."""

from __future__ import annotations

from dexbridge.connectors.contract.attempts.attempt import Attempt
from dexbridge.connectors.contract.attempts.dispatch import Dispatch
from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.github.answers import has_next_page
from dexbridge.connectors.github.models import FoundIssue, GetIssueInput, IssueComments, ListIssueCommentsInput
from dexbridge.connectors.github.payloads import comments_path, read_comments, to_comment, to_issue
from dexbridge.connectors.github.rest_api import RestApi
from dexbridge.connectors.http.answer_branches import INVALID_RESPONSE, PROVIDER_REJECTED, unsuccessful
from dexbridge.connectors.http.answer_table import JudgedAnswer, Proof

AnyRead = Dispatch[GetIssueInput] | Dispatch[ListIssueCommentsInput]

_NO_SUCH = frozenset({301, 302, 307, 308, 404, 410})


async def get_issue(api: RestApi, dispatch: Dispatch[GetIssueInput]) -> Attempt:
    """Reads one issue."""
    given = dispatch.input
    path = f"/repos/{given.repository}/issues/{given.issue_number}"
    answer = await api.get(dispatch.credential("token"), dispatch.leave, path)
    if answer.proof is not Proof.DONE:
        return _not_read(dispatch, answer)
    issue = to_issue(given.repository, answer.payload)
    if issue is None or issue.issue_number != given.issue_number:
        return _malformed(dispatch, "issue")
    receipt = dispatch.receipt(str(issue.issue_number), request_id=answer.request_id)
    return dispatch.took("found", FoundIssue(issue=issue), receipt)


async def list_issue_comments(api: RestApi, dispatch: Dispatch[ListIssueCommentsInput]) -> Attempt:
    """Reads one page of an issue's comments."""
    given = dispatch.input
    page = int(given.cursor or "1")
    query = {"per_page": str(given.page_size), "page": str(page)}
    answer = await api.get(dispatch.credential("token"), dispatch.leave, comments_path(given), query)
    if answer.kind is FailureKind.RESPONSE_TOO_LARGE:
        return dispatch.failed(INVALID_RESPONSE, answer.kind, _smaller(page, given.page_size))
    if answer.proof is not Proof.DONE:
        return _not_read(dispatch, answer)
    found = read_comments(answer.payload)
    if found is None:
        return _malformed(dispatch, "comments")
    comments = tuple(comment for comment in map(to_comment, found.objects) if comment is not None)
    told = IssueComments(comments=comments, next_cursor=str(page + 1) if has_next_page(answer) else None)
    return dispatch.took("read", told, dispatch.receipt(request_id=answer.request_id))


def _not_read(dispatch: AnyRead, answer: JudgedAnswer) -> Attempt:
    return unsuccessful(dispatch, answer, refusal="notFound" if answer.status in _NO_SUCH else PROVIDER_REJECTED)


def _smaller(page: int, page_size: int) -> str:
    """What to ask for instead of a page that is larger than a connection reads: its first part."""
    begin = (page - 1) * page_size
    if page_size == 1:
        return f"this one comment is too large to be read here; go on behind it with page_size 1 and cursor {page + 1}."
    size = next(part for part in range(page_size // 2, 0, -1) if begin % part == 0)
    cursor = f"cursor {begin // size + 1}" if begin else "no cursor"
    return f"these comments are too large to be read at once; call again with page_size {size} and {cursor}."


def _malformed(dispatch: AnyRead, what: str) -> Attempt:
    return dispatch.failed(
        INVALID_RESPONSE, FailureKind.PROTOCOL, f"GitHub's answer does not hold the {what} it should."
    )
