"""A Worker in a process of its own, to be killed: `python -m tests.fakes.claude_worker DATABASE MODEL SLACK [TIMEOUT]`.

DATABASE is a SQLite file or an engine URL, TIMEOUT Slack's in seconds.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from dexbridge.claude import claude_agent_session_flow
from dexbridge.connectors import slack
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.sessions import AgentSessionFlow, open_engine
from dexbridge.toolsource import ConnectorTool, ConnectorToolSource
from tests.fakes.claude_stage import FLOW, agent_options, slack_connection, slack_tools


class QuickTool(ConnectorTool):
    """The Slack tool with a request time-out as short as its connection's: after it nothing can be under way."""

    @property
    def timeout(self) -> timedelta:
        return timedelta(seconds=0.7)


def quick_tools(connection: slack.Connection) -> Sequence[ConnectorTool]:
    """The write of the stage, with that time-out."""
    tool = slack_tools(connection)[0]
    return [QuickTool(tool.name, tool.bound, tool.approval, tool.input_schema)]


def worker_flow(model_url: str, endpoint: str, *, http_timeout: float = 30.0) -> AgentSessionFlow:
    """The flow of the Worker and of the test that talks to it."""
    tokens = LocalSlack()
    _, connection = slack_connection(
        endpoint, http_timeout=http_timeout, bot_token=tokens.bot_token, user_token=tokens.user_token
    )
    flow = claude_agent_session_flow(
        lambda _context: agent_options(model_url),
        [],
        flow_type=FLOW,
        tool_sources=[ConnectorToolSource(quick_tools(connection))],
    )
    limits = replace(flow.limits, dispatch_window=timedelta(seconds=1), reconcile_margin=timedelta(seconds=0.2))
    return replace(flow, limits=limits)


async def _serve(database: str, model_url: str, endpoint: str, http_timeout: str = "30") -> None:
    url = database if "://" in database else f"sqlite:///{database}"
    async with open_engine(url, [worker_flow(model_url, endpoint, http_timeout=float(http_timeout))]):
        print("serving", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:5]))
