"""Slack: reading threads, posting messages and replies.

    connection = slack.new_project_connection(project, "support-slack")
    tool = connector_tool(connection.post_thread_reply(), connection.reference)

aiohttp (`pip install 'dexbridge[slack]'`) is imported when the first request is made.
"""

from dexbridge.connectors.slack.configuration import SlackConfiguration
from dexbridge.connectors.slack.connection import (
    Connection,
    InvalidSlackConfiguration,
    new_project_connection,
)
from dexbridge.connectors.slack.definition import SLACK
from dexbridge.connectors.slack.models import PostedMessage, SlackMessage, ThreadMessages, ThreadReply

__all__ = [
    "SLACK",
    "Connection",
    "InvalidSlackConfiguration",
    "PostedMessage",
    "SlackConfiguration",
    "SlackMessage",
    "ThreadMessages",
    "ThreadReply",
    "new_project_connection",
]
