"""Why a segment failed, and whether another attempt could help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from claude_agent_sdk import (
    ClaudeSDKError,
    CLIConnectionError,
    CLINotFoundError,
    ProcessError,
    ResultMessage,
)

from dexbridge.sessions import SegmentFailed
from dexbridge.toolsource import MCP_SERVER

__all__ = ["as_segment_failure", "check_init", "check_result", "check_retry"]

_LONGEST_REASON = 500
_REFUSED_KEY = (401, 403)
_LIMITS = {"error_max_turns": "max_turns", "error_max_budget_usd": "max_budget_usd"}


def check_init(data: Mapping[str, Any], qualified: Sequence[str]) -> None:
    """The CLI has our server connected and every offered tool; else the attempt fails and may be made again."""
    servers = cast("Sequence[Mapping[str, Any]]", data.get("mcp_servers") or ())
    status = next((str(server.get("status")) for server in servers if server.get("name") == MCP_SERVER), "absent")
    if status != "connected":
        raise SegmentFailed(f"The CLI reports the server of the tools as {status}, not connected.")
    listed = set(cast("Sequence[str]", data.get("tools") or ()))
    if missing := [name for name in qualified if name not in listed]:
        raise SegmentFailed(f"The CLI does not offer {', '.join(missing)} to the model.")


def check_retry(data: Mapping[str, Any]) -> None:
    """The CLI is about to repeat a request; with a refused key that cannot help."""
    status = data.get("error_status")
    if status in _REFUSED_KEY:
        raise _refused_key(status)


def check_result(message: ResultMessage, model: str) -> None:
    """Judges a result by `is_error` and the API's status; `subtype` says "success" for failed runs too."""
    if not message.is_error:
        return
    if message.stop_reason == "tool_deferred_unavailable":
        raise SegmentFailed("The CLI reports the tool of the pending call as unavailable; its result is given again.")
    if message.subtype in _LIMITS:
        name = _LIMITS[message.subtype]
        raise SegmentFailed(f"The segment reached {name} of the Claude options: raise it.", permanent=True)
    status = message.api_error_status
    said = _shortened(message.result or "; ".join(message.errors or ()) or message.subtype)
    match status:
        case 401 | 403:
            raise _refused_key(status)
        case 404:
            raise SegmentFailed(
                f"The Messages API does not know the model {model!r} (404): set another one. {said}", permanent=True
            )
        case 400 | 413:
            raise SegmentFailed(f"The Messages API refused the request ({status}): {said}", permanent=True)
        case None:
            raise SegmentFailed(f"The CLI's run failed: {said}")
        case _:
            raise SegmentFailed(f"The Messages API failed with HTTP {status}: {said}")


def as_segment_failure(error: Exception) -> SegmentFailed:
    """What the SDK raised, as a failure of the segment.

    The text of an exception may quote output of the CLI, so only what is known to be harmless is kept.
    """
    match error:
        case SegmentFailed():
            return error
        case CLINotFoundError():
            return SegmentFailed("The Claude Code CLI was not found: install claude-agent-sdk's wheel.", permanent=True)
        case ProcessError():
            return SegmentFailed(f"The Claude Code CLI ended with exit code {error.exit_code}.")
        case CLIConnectionError() | ClaudeSDKError():
            return SegmentFailed(f"The Claude Code CLI could not be used ({type(error).__name__}).")
        case TimeoutError():
            return SegmentFailed("The Claude Code CLI did not answer in time.")
        case _:
            return SegmentFailed(f"The segment stopped with {type(error).__name__}.")


def _refused_key(status: int) -> SegmentFailed:
    return SegmentFailed(
        f"The Messages API refused the key (HTTP {status}): set a valid ANTHROPIC_API_KEY in the Worker's environment.",
        permanent=True,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
