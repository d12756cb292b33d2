"""A flow whose one tool posts to Slack, through a connection file and the local Slack; no CLI and no model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from dexbridge.config import load_from_environment
from dexbridge.config.writing import NewConnection, write_connection_file
from dexbridge.connectors import Secret, slack
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.sessions import AgentSessionFlow, SessionLimits
from dexbridge.toolsource import OfferedTools, connector_tool
from tests.fakes.scripted_runner import ScriptedRunner

__all__ = ["POST", "connection_file", "slack_flow"]

POST = "slack_post_channel_message"


def connection_file(folder: Path, server: LocalSlack) -> Path:
    """Writes a connection file for the local Slack."""
    path = folder / "connections.json"
    tokens = {name: Secret(value) for name, value in server.tokens.items()}
    write_connection_file(str(path), [NewConnection("slack", "support-slack", {"endpoint": server.endpoint}, tokens)])
    return path


@asynccontextmanager
async def slack_flow(
    path: Path | str, *, asks: bool = True, runner: ScriptedRunner | None = None
) -> AsyncGenerator[AgentSessionFlow]:
    """The flow of a connection file."""
    project = await load_from_environment({"DEX_CONNECTOR_CONFIG_FILE": str(path)})
    try:
        connection = slack.new_project_connection(project, "support-slack", settling_time=timedelta(0))
        tool = connector_tool(connection.post_channel_message(), connection.reference, requires_approval=asks)
        yield AgentSessionFlow("Posting", runner or ScriptedRunner(), OfferedTools([tool]), SessionLimits())
    finally:
        await project.close()
