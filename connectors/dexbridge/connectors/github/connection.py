"""github.Connection: GitHub as one token sees it, and its operations."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from dexbridge.connectors.contract.binding import SETTLING_TIME, bind_operation
from dexbridge.connectors.contract.bound_operation import BoundOperation
from dexbridge.connectors.contract.project import ConnectionProject, ProjectConnection
from dexbridge.connectors.github.commenting import add_issue_comment
from dexbridge.connectors.github.configuration import GitHubConfiguration
from dexbridge.connectors.github.models import (
    AddIssueCommentInput,
    GetIssueInput,
    ListIssueCommentsInput,
    for_repositories,
    with_body_limit,
)
from dexbridge.connectors.github.operations import ADD_ISSUE_COMMENT, GET_ISSUE, LIST_ISSUE_COMMENTS
from dexbridge.connectors.github.reading import get_issue, list_issue_comments
from dexbridge.connectors.github.reconciling import reconcile
from dexbridge.connectors.github.rest_api import RestApi
from dexbridge.connectors.http.configuration import read_configuration
from dexbridge.connectors.http.connection import HttpConnection
from dexbridge.connectors.http.pool import HTTP_TIMEOUT


class Connection(HttpConnection[GitHubConfiguration, RestApi]):
    """GitHub as one token sees it. Take it from a project with `new_project_connection`."""

    def _open(self, connection: ProjectConnection, http_timeout: timedelta) -> tuple[GitHubConfiguration, RestApi]:
        configuration = read_configuration(connection, GitHubConfiguration)
        return configuration, RestApi(configuration, http_timeout)

    def get_issue(self) -> BoundOperation:
        """getIssue: one issue or pull request."""
        return bind_operation(
            GET_ISSUE,
            self._connection,
            for_repositories(GetIssueInput, self._configuration.repositories),
            send=partial(get_issue, self._api),
        )

    def list_issue_comments(self) -> BoundOperation:
        """listIssueComments: one page of an issue's comments."""
        return bind_operation(
            LIST_ISSUE_COMMENTS,
            self._connection,
            for_repositories(ListIssueCommentsInput, self._configuration.repositories),
            send=partial(list_issue_comments, self._api),
        )

    def add_issue_comment(self) -> BoundOperation:
        """addIssueComment: a comment on an issue or pull request; recommends approval."""
        limited = with_body_limit(AddIssueCommentInput, self._configuration.max_comment_characters)
        return bind_operation(
            ADD_ISSUE_COMMENT,
            self._connection,
            for_repositories(limited, self._configuration.repositories),
            send=partial(add_issue_comment, self._api),
            reconcile=partial(reconcile, self._api),
            settling_time=self._settling_time,
        )


def new_project_connection(
    project: ConnectionProject,
    connection_name: str,
    *,
    http_timeout: timedelta = HTTP_TIMEOUT,
    settling_time: timedelta = SETTLING_TIME,
) -> Connection:
    """Takes the GitHub connection of that name from a project. Closing the project closes it.

    Raises:
        UnknownConnection: the project has no GitHub connection of that name.
        InvalidConfiguration: its configuration has faults.
    """
    return Connection(
        project.connection("github", connection_name),
        http_timeout=http_timeout,
        settling_time=settling_time,
    )
