"""slack.Connection: one Slack workspace account, and its operations."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from dexbridge.connectors.contract.binding import SETTLING_TIME, bind_operation
from dexbridge.connectors.contract.bound_operation import BoundOperation
from dexbridge.connectors.contract.project import ConnectionProject, ProjectConnection
from dexbridge.connectors.http.configuration import InvalidConfiguration, read_configuration
from dexbridge.connectors.http.connection import HttpConnection
from dexbridge.connectors.http.pool import HTTP_TIMEOUT
from dexbridge.connectors.slack.configuration import SlackConfiguration
from dexbridge.connectors.slack.models import (
    GetThreadReplyInput,
    ListThreadMessagesInput,
    PostChannelMessageInput,
    PostInput,
    PostThreadReplyInput,
    for_channels,
    with_text_limit,
)
from dexbridge.connectors.slack.operations import (
    GET_THREAD_REPLY,
    LIST_THREAD_MESSAGES,
    POST_CHANNEL_MESSAGE,
    POST_THREAD_REPLY,
)
from dexbridge.connectors.slack.posting import post
from dexbridge.connectors.slack.reading import get_thread_reply, list_thread_messages
from dexbridge.connectors.slack.reconciling import reconcile
from dexbridge.connectors.slack.web_api import WebApi

InvalidSlackConfiguration = InvalidConfiguration


class Connection(HttpConnection[SlackConfiguration, WebApi]):
    """Slack as one account sees it. Take it from a project with `new_project_connection`."""

    def _open(self, connection: ProjectConnection, http_timeout: timedelta) -> tuple[SlackConfiguration, WebApi]:
        configuration = read_configuration(connection, SlackConfiguration)
        return configuration, WebApi(configuration, http_timeout)

    def list_thread_messages(self) -> BoundOperation:
        """listThreadMessages: one page of a thread. Needs `user_token`, or else `bot_token`."""
        return bind_operation(
            LIST_THREAD_MESSAGES,
            self._connection,
            ListThreadMessagesInput,
            send=partial(list_thread_messages, self._api),
        )

    def get_thread_reply(self) -> BoundOperation:
        """getThreadReply: one reply by its timestamp. Needs `user_token`, or else `bot_token`."""
        return bind_operation(
            GET_THREAD_REPLY,
            self._connection,
            GetThreadReplyInput,
            send=partial(get_thread_reply, self._api),
        )

    def post_channel_message(self) -> BoundOperation:
        """postChannelMessage: a new message in a channel. Needs `bot_token`; without `user_token` it looks up, too."""
        return bind_operation(
            POST_CHANNEL_MESSAGE,
            self._connection,
            self._limited(PostChannelMessageInput),
            send=partial(post, self._api),
            reconcile=partial(reconcile, self._api),
            settling_time=self._settling_time,
        )

    def post_thread_reply(self) -> BoundOperation:
        """postThreadReply: a reply in a thread. Needs `bot_token`; without `user_token` it looks up, too."""
        return bind_operation(
            POST_THREAD_REPLY,
            self._connection,
            self._limited(PostThreadReplyInput),
            send=partial(post, self._api),
            reconcile=partial(reconcile, self._api),
            settling_time=self._settling_time,
        )

    def _limited(self, model: type[PostInput]) -> type[PostInput]:
        limited = with_text_limit(model, self._configuration.max_message_characters)
        return for_channels(limited, self._configuration.channels)


def new_project_connection(
    project: ConnectionProject,
    connection_name: str,
    *,
    http_timeout: timedelta = HTTP_TIMEOUT,
    settling_time: timedelta = SETTLING_TIME,
) -> Connection:
    """Takes the Slack connection of that name from a project. Closing the project closes it.

    Raises:
        UnknownConnection: the project has no Slack connection of that name.
        InvalidSlackConfiguration: its configuration has faults.
    """
    return Connection(
        project.connection("slack", connection_name),
        http_timeout=http_timeout,
        settling_time=settling_time,
    )
