"""The order-support agent on the Claude Agent SDK."""

from __future__ import annotations

import os
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, tool

from dexbridge.claude import ClaudeAgentOptionsContext, build_claude_cli_environment, claude_agent_session_flow
from dexbridge.connectors import slack
from dexbridge.sessions import AgentSessionFlow
from dexbridge.toolsource import ToolEffect, ToolPolicy
from examples.order_support.order_desk import OrderDesk
from examples.order_support.slack_connector_tools import build_slack_tool_sources

CLAUDE_AGENT_SDK_ORDER_SUPPORT_FLOW_TYPE = "ClaudeAgentSDKOrderSupport"

ORDER_SUPPORT_INSTRUCTIONS = """\
You are the order-support agent of a small shop. Look an order up before you say anything about it. Cancel an order
only when the customer asks for it. Reply in a Slack thread when you are given its channel ID and thread timestamp.
When a call was rejected or failed, say so plainly, and do not try it again unless you are asked to.
"""


def build_claude_agent_sdk_order_support_flow(
    order_desk: OrderDesk, model: str, slack_connection: slack.Connection | None
) -> AgentSessionFlow:
    """Builds the session flow; `model` is the name of a Claude model, such as "claude-opus-5-5"."""

    # The tools close over the desk they are given, so a test can pass one of its own.
    @tool(
        "look_up_order",
        "Look up one order by its order ID and return its items and status.",
        {"order_id": str},
    )
    async def look_up_order(arguments: dict[str, Any]) -> dict[str, Any]:
        order = order_desk.describe_order(arguments["order_id"])
        return {"content": [{"type": "text", "text": order}]}

    @tool(
        "cancel_order",
        "Cancel one order that has not shipped yet.",
        {"order_id": str, "reason": str},
    )
    async def cancel_order(arguments: dict[str, Any]) -> dict[str, Any]:
        result = order_desk.cancel_order(arguments["order_id"], arguments["reason"])
        return {"content": [{"type": "text", "text": result}]}

    # The context names the session; all sessions of this agent have the same options.
    def build_options(context: ClaudeAgentOptionsContext) -> ClaudeAgentOptions:  # noqa: ARG001
        return ClaudeAgentOptions(
            model=model,
            env={**build_claude_cli_environment(os.environ), **_model_server()},
            system_prompt=ORDER_SUPPORT_INSTRUCTIONS,
            # Of Claude Code's own tools none: the agent has the order tools and Slack.
            tools=[],
            # A settings file on this machine could allow a tool before a person was asked.
            setting_sources=[],
        )

    return claude_agent_session_flow(
        build_options,
        [look_up_order, cancel_order],
        flow_type=CLAUDE_AGENT_SDK_ORDER_SUPPORT_FLOW_TYPE,
        tool_sources=build_slack_tool_sources(slack_connection),
        tool_policies={
            "look_up_order": ToolPolicy(ToolEffect.READ),
            "cancel_order": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE),
        },
    )


def _model_server() -> dict[str, str]:
    # build_claude_cli_environment passes no server on, since the key goes where it says. A gateway, or the scripted
    # model of `make demo`, is named on purpose.
    url = os.environ.get("ANTHROPIC_BASE_URL")
    return {"ANTHROPIC_BASE_URL": url} if url else {}
