"""What may write inside the CLI, where nobody is asked by dexbridge and a lost segment writes again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from claude_agent_sdk import ClaudeAgentOptions

from dexbridge.sessions import SegmentFailed
from dexbridge.toolsource import short_name

__all__ = ["InlineWrites", "check_inline_writes", "inside_writers", "only_reads"]

InlineWrites = Literal["allow", "refuse"]
"""Whether options may hold tools that may write inside the CLI."""

# Built-in tools of the tested CLI that change nothing outside of the conversation. WebFetch is none of them: an address
# can act. Agent and Task start a subagent, whose calls are looked at one by one.
_ONLY_READ = frozenset(
    (
        *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "StructuredOutput", "TodoWrite", "ToolSearch"),
        *("Agent", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskUpdate"),
        *("Glob", "Grep", "LS", "ListMcpResourcesTool", "NotebookRead", "Read", "ReadMcpResourceTool", "WebSearch"),
    )
)


def only_reads(tool: str) -> bool:
    """Whether a tool of the CLI, by its name, is known to write nothing."""
    return tool in _ONLY_READ


def inside_writers(options: ClaudeAgentOptions) -> Sequence[str]:
    """What may write without being asked, each as the option and what stands in it; empty when nothing may.

    Whether a call of theirs is let through is the CLI's affair: of `allowed_tools`, `permission_mode`, `can_use_tool`.
    """
    writers: list[str] = []
    if isinstance(options.tools, list):
        writers.extend(f"tools: {name}" for name in options.tools if not only_reads(name.partition("(")[0].strip()))
    elif options.tools is None:
        writers.append("tools: all built-in tools, since it is left out")
    else:
        writers.append("tools: all built-in tools")
    if isinstance(options.mcp_servers, dict):
        writers.extend(f"mcp_servers: {name}" for name in options.mcp_servers)
    for agent, definition in (options.agents or {}).items():
        if definition.mcpServers:
            writers.append(f"agents: the servers of {agent}")
    if not writers:
        return ()
    writers.extend(
        f"allowed_tools: {entry}"
        for entry in options.allowed_tools
        if short_name(entry) is None and not only_reads(entry.partition("(")[0].strip())
    )
    if options.can_use_tool is not None:
        writers.append("can_use_tool: whatever it allows")
    if options.permission_mode in ("acceptEdits", "auto"):
        writers.append(f"permission_mode: {options.permission_mode}")
    return tuple(writers)


def check_inline_writes(options: ClaudeAgentOptions) -> None:
    """Refuses options with tools that may write inside the CLI. Raises `SegmentFailed`, permanent, naming each."""
    writers = inside_writers(options)
    if writers:
        listed = "\n".join(f"- {writer}" for writer in writers)
        raise SegmentFailed(
            "These Claude options may write inside the CLI, unasked and perhaps twice, and inline_writes is "
            f'"refuse": remove them, set tools=[] where no built-in tool is wanted.\n{listed}',
            permanent=True,
        )
