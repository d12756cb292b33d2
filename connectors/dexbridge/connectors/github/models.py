"""Input and output of GitHub's operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import Field, create_model

from dexbridge.connectors.contract.arguments.input_schema import Advice, NotBlank, OperationInput, OperationOutput
from dexbridge.connectors.github.configuration import MAX_COMMENT_CHARACTERS, REPOSITORY_PATTERN

Repository: TypeAlias = Annotated[
    str,
    Field(pattern=REPOSITORY_PATTERN, description="Owner and name, such as octo-org/octo-repo."),
    Advice("write owner and name with a slash between, such as octo-org/octo-repo, not the address of the page"),
]

IssueNumber: TypeAlias = Annotated[
    int,
    Field(ge=1, le=2_147_483_647, description="The number behind the #, of an issue or a pull request."),
    Advice("give the number behind the # as a number, such as 42"),
]


def _body_rules(limit: int) -> Any:
    return Field(
        min_length=1,
        max_length=limit,
        pattern=r"\S",
        description=(
            f"The comment in GitHub Flavored Markdown, at most {limit} characters. @name notifies that person or team."
        ),
    )


def _body_advice(limit: int) -> Advice:
    return Advice(f"write 1 to {limit:,} characters of text")


class GetIssueInput(OperationInput):
    """Arguments of getIssue."""

    repository: Repository
    issue_number: IssueNumber


class ListIssueCommentsInput(OperationInput):
    """Arguments of listIssueComments."""

    repository: Repository
    issue_number: IssueNumber
    cursor: Annotated[
        str | None,
        Field(pattern=r"^[1-9][0-9]{0,5}$", description="next_cursor of the page before; leave out at first."),
        Advice("use the next_cursor of the page before, or leave it out to begin with the first page"),
    ] = None
    page_size: Annotated[int, Field(ge=1, le=30, description="Comments per page, 1 to 30.")] = 15


class AddIssueCommentInput(OperationInput):
    """Arguments of addIssueComment."""

    repository: Repository
    issue_number: IssueNumber
    body: Annotated[str, _body_rules(MAX_COMMENT_CHARACTERS), NotBlank, _body_advice(MAX_COMMENT_CHARACTERS)]


AnyInput = TypeVar("AnyInput", GetIssueInput, ListIssueCommentsInput, AddIssueCommentInput)


def for_repositories(model: type[AnyInput], repositories: Sequence[str]) -> type[AnyInput]:
    """The input model of a connection that may be used for these repositories only; none means any."""
    if not repositories:
        return model
    allowed: Any = Annotated[
        Literal[tuple(repositories)],
        Field(description="One of the repositories this connection may be used for."),
        Advice(f"this connection may be used for {', '.join(repositories)} only"),
    ]
    return create_model(model.__name__, __base__=model, repository=(allowed, ...))


def with_body_limit(model: type[AddIssueCommentInput], limit: int) -> type[AddIssueCommentInput]:
    """The input model with a connection's own limit on the comment, in its check and in its schema."""
    if limit == MAX_COMMENT_CHARACTERS:
        return model
    body = Annotated[str, _body_rules(limit), NotBlank, _body_advice(limit)]
    return create_model(model.__name__, __base__=model, body=(body, ...))


class Issue(OperationOutput):
    """One issue or pull request."""

    repository: str
    issue_number: int
    title: str
    state: str
    state_reason: str | None = None
    is_pull_request: bool
    is_locked: bool
    author: str | None = None
    labels: tuple[str, ...]
    comment_count: int
    created_at: str
    updated_at: str
    url: str
    body: str


class IssueComment(OperationOutput):
    """One comment. Our own marker is taken off its body."""

    comment_id: str
    author: str | None = None
    created_at: str
    url: str
    body: str


class FoundIssue(OperationOutput):
    """Output of getIssue."""

    issue: Issue


class IssueComments(OperationOutput):
    """Output of listIssueComments: one page, oldest first."""

    comments: tuple[IssueComment, ...]
    next_cursor: str | None = None


class AddedComment(OperationOutput):
    """Output of addIssueComment."""

    comment: IssueComment
