"""github.Connection: GitHub as one token sees it, and its operations."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from dexbridge.connectors.binding import SETTLING_TIME, bind_operation
from dexbridge.connectors.bound_operation import BoundOperation
from dexbridge.connectors.configuration import read_configuration
from dexbridge.connectors.github.commenting import add_issue_comment
from dexbridge.connectors.github.configuration import GitHubConfiguration
from dexbridge.connectors.github.models import (
    AddIssueCommentInput,
    GetIssueInput,
    ListIssueCommentsInput,
    for_repositories,
    with_body_limit,
)
from dexbridge.connectors.github.operations import ADD_ISSUE_COMMENT, GET_ISSUE, LIST_ISSUE_COMMENTS, TIMEOUT
from dexbridge.connectors.github.reading import get_issue, list_issue_comments
from dexbridge.connectors.github.reconciling import reconcile
from dexbridge.connectors.github.rest_api import RestApi
from dexbridge.connectors.project import ConnectionProject, ConnectionReference, ProjectConnection


class Connection:
    """GitHub as one token sees it. Take it from a project with `new_project_connection`.

    Args:
        connection: the project's connection; credentials are read from it at each call.
        http_timeout: of one HTTP request, connecting included.
        settling_time: how long after a request's end GitHub may still need to show its comment to a reader.

    Raises:
        InvalidConfiguration: the configuration has faults.
    """

    def __init__(
        self,
        connection: ProjectConnection,
        *,
        http_timeout: timedelta = TIMEOUT,
        settling_time: timedelta = SETTLING_TIME,
    ) -> None:
        self._connection = connection
        self._configuration = read_configuration(connection, GitHubConfiguration)
        self._settling_time = settling_time
        self._api = RestApi(
            self._configuration.endpoint,
            max_response_bytes=self._configuration.max_response_bytes,
            timeout=http_timeout,
        )
        connection.on_close(self.close)

    @property
    def reference(self) -> ConnectionReference:
        """Which connection this is."""
        return self._connection.reference

    def __repr__(self) -> str:
        return f"<github.Connection {self.reference}>"

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

    async def close(self) -> None:
        """Closes the HTTP connections; the project does this too. A later call opens new ones."""
        await self._api.close()


def new_project_connection(
    project: ConnectionProject,
    connection_name: str,
    *,
    http_timeout: timedelta = TIMEOUT,
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
