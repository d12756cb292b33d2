"""A session flow whose agent is Claude Code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, get_args

from claude_agent_sdk import SdkMcpTool

from dexbridge.claude.function_tool import function_tools
from dexbridge.claude.locks.inside_writes import InlineWrites
from dexbridge.claude.options.segment_options import BuildOptions
from dexbridge.claude.processes.slots import CliProcesses
from dexbridge.claude.runner import ClaudeRunner
from dexbridge.sessions import AgentSessionFlow, InvalidRequest, SessionLimits
from dexbridge.toolsource import OfferedTools, ToolPolicy, ToolSource

__all__ = ["claude_agent_session_flow"]


def claude_agent_session_flow(
    build_options: BuildOptions,
    custom_tools: Sequence[SdkMcpTool[Any]],
    *,
    flow_type: str,
    tool_sources: Sequence[ToolSource] = (),
    tool_policies: Mapping[str, ToolPolicy] | None = None,
    run_model_limit: timedelta = timedelta(minutes=15),
    processes: CliProcesses = CliProcesses(),  # noqa: B008 - a frozen value
    inline_writes: InlineWrites = "allow",
) -> AgentSessionFlow:
    """Builds the flow; build the same one in every process that runs its sessions or talks to them.

    Args:
        build_options: Returns the Claude options of a session; called for every segment. Options under which a call
            could run inside the CLI fail the RunModel attempt with a message that names them.
        custom_tools: Functions made with the SDK's `@tool`. Reads run inside the CLI, writes in Steps of their own.
        flow_type: Names the kind of session in the database.
        tool_sources: Offer Connector operations; every call of one runs in a Step of its own.
        tool_policies: By the tools' own names. A custom tool without one counts as a non-idempotent write that asks.
        run_model_limit: Longest time of one segment.
        processes: How many CLI processes a Worker holds, and how long one may wait with a call.
        inline_writes: `"refuse"` fails every segment whose options hold a tool that may write inside the CLI: a
            built-in tool such as Bash, another MCP server. Their calls are at least once and ask nobody.

    Raises:
        InvalidToolDefinition: A tool's name, schema or policy cannot be offered.
        InvalidRequest: `inline_writes` is neither word.
    """
    if inline_writes not in get_args(InlineWrites):
        raise InvalidRequest(f'inline_writes must be "allow" or "refuse", not {inline_writes!r}.')
    policies = dict(tool_policies or {})
    tools = OfferedTools(function_tools(custom_tools, policies), tool_sources, policies)
    return AgentSessionFlow(
        flow_type=flow_type,
        runner=ClaudeRunner(build_options, tools, flow_type, processes, inline_writes),
        tools=tools,
        limits=SessionLimits(run_model=run_model_limit),
    )
