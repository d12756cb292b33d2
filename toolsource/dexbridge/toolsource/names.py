"""Tool names: the short name of policies and records, and the name the Claude Code CLI sees."""

from __future__ import annotations

import re

from dexbridge.toolsource.errors import InvalidToolDefinition

__all__ = ["MCP_SERVER", "check_tool_name", "mcp_name", "short_name"]

MCP_SERVER = "tools"
"""Name of the in-process MCP server; the CLI forms `mcp__tools__<name>` of it."""

_PREFIX = f"mcp__{MCP_SERVER}__"
_LONGEST = 64
_ALLOWED = re.compile(r"[a-zA-Z0-9_-]+")


def mcp_name(name: str) -> str:
    """The name the CLI and the model see, `mcp__tools__slack_post_thread_reply`."""
    return _PREFIX + name


def short_name(qualified: str) -> str | None:
    """The tool's own name, or `None` when the qualified name is not of our server."""
    return qualified.removeprefix(_PREFIX) or None if qualified.startswith(_PREFIX) else None


def check_tool_name(name: str) -> None:
    """Refuses a name the Messages API would refuse with the whole request.

    Source: the API's `^[a-zA-Z0-9_-]{1,64}$`, which counts the `mcp__tools__` prefix; the CLI does not check it.

    Raises:
        InvalidToolDefinition: The name is empty, too long or has another character.
    """
    if not _ALLOWED.fullmatch(name):
        raise InvalidToolDefinition(
            f"The tool name {name!r} may hold only letters, digits, '_' and '-': choose another with name=…"
        )
    if len(mcp_name(name)) > _LONGEST:
        raise InvalidToolDefinition(
            f"The tool name {name!r} is {len(mcp_name(name))} characters long as {mcp_name(name)!r}, over the limit of "
            f"{_LONGEST}: choose one of at most {_LONGEST - len(_PREFIX)} characters with name=…"
        )
