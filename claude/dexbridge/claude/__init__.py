"""Claude Agent SDK agents in durable sessions.

Names are loaded when they are first used, so that `dexbridge.claude.testing` needs no Claude SDK.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dexbridge.claude.flow import claude_agent_session_flow
    from dexbridge.claude.options.environment import build_claude_cli_environment
    from dexbridge.claude.options.segment_options import ClaudeAgentOptionsContext
    from dexbridge.claude.processes.slots import CliProcesses

__all__ = ["ClaudeAgentOptionsContext", "CliProcesses", "build_claude_cli_environment", "claude_agent_session_flow"]

_PLACES = {
    "ClaudeAgentOptionsContext": "dexbridge.claude.options.segment_options",
    "CliProcesses": "dexbridge.claude.processes.slots",
    "build_claude_cli_environment": "dexbridge.claude.options.environment",
    "claude_agent_session_flow": "dexbridge.claude.flow",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_PLACES[name]), name)
