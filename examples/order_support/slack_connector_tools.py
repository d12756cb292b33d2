"""The Slack connection of the example, and what the agent may do with it."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass

from dexbridge.config import FILE_VARIABLE, ConnectionFileAbsent, Project, load_from_environment, validate_tools
from dexbridge.connectors import slack
from dexbridge.toolsource import ConnectorToolSource, ToolSource, connector_tool

SLACK_CONNECTION_NAME = "support-slack"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlackProjectConnection:
    """The connection, with the project it was taken from; close it when the application stops."""

    project: Project
    connection: slack.Connection

    async def aclose(self) -> None:
        await self.project.close()


def build_slack_tool_sources(connection: slack.Connection | None) -> list[ToolSource]:
    """Returns the Slack tool source, or no source when Slack is not configured."""
    if connection is None:
        return []
    return [
        ConnectorToolSource(
            [
                # The operation itself asks nobody; whoever runs this agent reads every post first.
                connector_tool(connection.post_thread_reply(), connection.reference, requires_approval=True),
            ]
        ),
    ]


async def open_slack_project_connection(
    environment: Mapping[str, str] = os.environ,
) -> SlackProjectConnection | None:
    """Opens the connection `support-slack` of the file named by DEX_CONNECTOR_CONFIG_FILE.

    Returns `None` when no file is named, or it is not there, which is logged as a warning: the agent then works
    without Slack. A file that is there and wrong, has no such connection, or lacks a credential that one of the tools
    needs, raises, so that the application fails when it starts.
    """
    try:
        project = await load_from_environment(environment)
    except FileNotFoundError as absent:
        # An unset variable is a choice; one that names no file is more likely a slip.
        level = logging.WARNING if isinstance(absent, ConnectionFileAbsent) else logging.INFO
        logger.log(level, "The agent gets no Slack tool. %s: %s", FILE_VARIABLE, absent)
        return None
    try:
        connection = slack.new_project_connection(project, SLACK_CONNECTION_NAME)
        validate_tools(project, build_slack_tool_sources(connection))
    except BaseException:
        await project.close()
        raise
    return SlackProjectConnection(project, connection)
