"""A Worker of the fault harness: `python -m benchmarks.fault_worker DATABASE MODEL SLACK asks|free`.

It has a long system prompt, the two Slack tools, and a read of the application with a long result.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from dexbridge.claude import claude_agent_session_flow
from dexbridge.connectors import slack
from dexbridge.connectors.slack.configuration import LARGEST_TEXT_LIMIT
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.sessions import AgentSessionFlow, open_engine
from dexbridge.toolsource import ConnectorTool, ConnectorToolSource, ToolEffect, ToolPolicy, connector_tool
from tests.fakes.claude_stage import FLOW, OrderDesk, agent_options
from tests.fakes.claude_worker import QuickTool

__all__ = ["LONG_RESULT", "SLACK_SECONDS", "fault_flow"]

SLACK_SECONDS = 0.5
LONG_RESULT = 16_000
"""Characters; the file a process resumes from is another beyond 15,000."""
_PROMPT = "You support orders. " + "Answer in whole sentences, and say what was done and what was not. " * 130
"""More than 8,000 characters, for the same reason."""


def _tools(connection: slack.Connection, *, asks: bool) -> Sequence[ConnectorTool]:
    post = connector_tool(connection.post_thread_reply(), connection.reference, requires_approval=asks)
    read = connector_tool(connection.list_thread_messages(), connection.reference)
    return [QuickTool(tool.name, tool.bound, tool.approval, tool.input_schema) for tool in (post, read)]


def fault_flow(model_url: str, endpoint: str, *, asks: bool) -> AgentSessionFlow:
    """The flow of the Workers and of the client that talks to them; `asks`: each post waits for a person."""
    tokens = LocalSlack()
    held = MemoryConnection(
        "slack",
        "support-slack",
        configuration={"endpoint": endpoint, "maxMessageCharacters": LARGEST_TEXT_LIMIT},
        credentials={"bot_token": tokens.bot_token, "user_token": tokens.user_token},
    )
    connection = slack.new_project_connection(
        MemoryProject(held),
        "support-slack",
        http_timeout=timedelta(seconds=SLACK_SECONDS),
        settling_time=timedelta(seconds=0.1),
    )
    flow = claude_agent_session_flow(
        lambda _context: agent_options(model_url, system_prompt=_PROMPT),
        OrderDesk(found="x" * LONG_RESULT).tools()[:1],
        flow_type=FLOW,
        tool_sources=[ConnectorToolSource(_tools(connection, asks=asks))],
        tool_policies={"look_up_order": ToolPolicy(ToolEffect.READ)},
    )
    limits = replace(flow.limits, dispatch_window=timedelta(seconds=1), reconcile_margin=timedelta(seconds=0.2))
    return replace(flow, limits=limits)


async def _serve(database: str, model_url: str, endpoint: str, approvals: str) -> None:
    async with open_engine(database, [fault_flow(model_url, endpoint, asks=approvals == "asks")]):
        print("serving", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:5]))
