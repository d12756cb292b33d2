"""GitHub's three operations: the manifest."""

from __future__ import annotations

from typing import Final

from dexbridge.connectors.contract.operation import Branch, BranchOutcome, Mutation, Query
from dexbridge.connectors.github.models import (
    AddedComment,
    AddIssueCommentInput,
    FoundIssue,
    GetIssueInput,
    IssueComments,
    ListIssueCommentsInput,
)
from dexbridge.connectors.http.answer_branches import mutation_branches, query_branches
from dexbridge.connectors.http.pool import HTTP_TIMEOUT

_NOT_FOUND: Final = Branch(
    "notFound", BranchOutcome.FAILED, "There is no such issue, it moved, or the token may not see it."
)
_SCOPES: Final = {"token": ("public_repo",)}
"""Of a classic token for public repositories; `repo`, which private ones need, includes it."""

GET_ISSUE: Final = Query(
    connector_id="github",
    operation_id="getIssue",
    title="Get GitHub issue",
    description=(
        "Reads one GitHub issue or pull request: title, state, labels and text. Its comments are read with "
        "github_list_issue_comments."
    ),
    input=GetIssueInput,
    output=FoundIssue,
    branches=(
        Branch("found", BranchOutcome.SUCCEEDED, "The issue was read."),
        _NOT_FOUND,
        *query_branches("GitHub"),
    ),
    credentials=("token",),
    scopes=_SCOPES,
    exposed_to_agents=True,
    timeout=HTTP_TIMEOUT,
)

LIST_ISSUE_COMMENTS: Final = Query(
    connector_id="github",
    operation_id="listIssueComments",
    title="List GitHub issue comments",
    description=(
        "Lists the comments of one GitHub issue or pull request, oldest first, at most 30 per page. When the result "
        "has a next_cursor there are more: call again with it as cursor and the same page_size."
    ),
    input=ListIssueCommentsInput,
    output=IssueComments,
    branches=(
        Branch("read", BranchOutcome.SUCCEEDED, "One page of the comments was read."),
        _NOT_FOUND,
        *query_branches("GitHub"),
    ),
    credentials=("token",),
    scopes=_SCOPES,
    exposed_to_agents=True,
    timeout=HTTP_TIMEOUT,
)

ADD_ISSUE_COMMENT: Final = Mutation(
    connector_id="github",
    operation_id="addIssueComment",
    title="Add GitHub issue comment",
    description=(
        "Adds one comment to a GitHub issue or pull request, visible to everyone who sees it and mailed to those who "
        "follow it."
    ),
    input=AddIssueCommentInput,
    output=AddedComment,
    branches=(
        Branch("added", BranchOutcome.SUCCEEDED, "GitHub added the comment."),
        *mutation_branches("GitHub"),
    ),
    credentials=("token",),
    scopes=_SCOPES,
    can_reconcile=True,
    exposed_to_agents=True,
    timeout=HTTP_TIMEOUT,
    recommends_approval=True,
)

GITHUB_OPERATIONS: Final = (GET_ISSUE, LIST_ISSUE_COMMENTS, ADD_ISSUE_COMMENT)
