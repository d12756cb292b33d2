"""How a comment is added."""

from __future__ import annotations

from dexbridge.connectors.contract.attempts.attempt import Attempt
from dexbridge.connectors.contract.attempts.dispatch import Dispatch
from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.github.marker import mark
from dexbridge.connectors.github.models import AddedComment, AddIssueCommentInput
from dexbridge.connectors.github.payloads import comments_path, to_comment
from dexbridge.connectors.github.rest_api import RestApi
from dexbridge.connectors.http.answer_branches import unsuccessful
from dexbridge.connectors.http.answer_table import Proof


async def add_issue_comment(api: RestApi, dispatch: Dispatch[AddIssueCommentInput]) -> Attempt:
    """Adds the dispatch's comment: one POST."""
    given = dispatch.input
    body = {"body": mark(given.body, dispatch.call.call_id)}
    answer = await api.post(dispatch.credential("token"), dispatch.leave, comments_path(given), body)
    if answer.proof is Proof.DONE:
        added = to_comment(answer.payload)
        if added is None:
            return dispatch.uncertain(FailureKind.PROTOCOL, "GitHub said created, but named no comment.")
        receipt = dispatch.receipt(added.comment_id, request_id=answer.request_id)
        return dispatch.took("added", AddedComment(comment=added), receipt)
    return unsuccessful(dispatch, answer)
