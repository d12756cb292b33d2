"""Why a segment failed, and whether another attempt could help."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from claude_agent_sdk import (
    ClaudeSDKError,
    CLIConnectionError,
    CLINotFoundError,
    ProcessError,
    ResultMessage,
)

from dexbridge.sessions import Refused, SegmentFailed
from dexbridge.toolsource import MCP_SERVER

__all__ = [
    "as_segment_failure",
    "check_asked",
    "check_init",
    "check_result",
    "check_retry",
    "check_submitted",
    "not_the_messages",
]

_LONGEST_REASON = 500
_REFUSED_KEY = (401, 403)
_KNOWN = {
    "Prompt is too long": "the conversation is too long for the model",
    "Request too large": "the request is too large",
    "API Error: an image": "an image in the conversation could not be processed",
}
_OPTION = re.compile(
    r"(tools|tool_choice|system|max_tokens|thinking|temperature|model|metadata|betas|output_config|context_management)\b"
)
"""What a complaint of the API about a parameter other than `messages` begins with."""

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


def check_submitted(data: Mapping[str, Any]) -> None:
    """What became of a prompt before the model could get it: a hook of the application may have kept it back."""
    outcome = cast("Mapping[str, Any]", data.get("prompt_submit_outcome") or {})
    if str(outcome.get("kind", "")).endswith("_by_hook"):
        raise SegmentFailed(
            "The application's UserPromptSubmit hook blocked the message, the model did not get it: "
            f"{_shortened(str(outcome.get('reason') or 'it gives no reason')).rstrip('.')}. Send another message.",
            refused=Refused.MESSAGES,
        )


def check_asked(message: ResultMessage, *, asked: bool) -> None:
    """A run that ended well without a reply of the model: its text is the CLI's own, not the agent's."""
    if not asked:
        said = _shortened(message.result or "it gives no reason")
        raise SegmentFailed(
            f"The CLI did not give the message to the model: {said} Send another message.", refused=Refused.MESSAGES
        )


@contextmanager
def not_the_messages(waiting: bool) -> Generator[None]:
    """What is refused here is not the new messages: they wait until the recorded result is given."""
    try:
        yield
    except SegmentFailed as failure:
        if waiting and failure.refused is not None:
            raise SegmentFailed(str(failure), refused=Refused.CONVERSATION) from None
        raise


def check_result(message: ResultMessage, model: str, kind: str | None = None) -> None:
    """Judges a result by `is_error` and the API's status; `subtype` says "success" for failed runs too.

    Args:
        message: The end of the run.
        model: The model that was asked.
        kind: The kind of the error, as the CLI reported it in place of a reply.
    """
    if not message.is_error:
        return
    if message.stop_reason == "tool_deferred_unavailable":
        raise SegmentFailed("The CLI reports the tool of the pending call as unavailable; its result is given again.")
    if message.stop_reason == "refusal":
        raise SegmentFailed(
            "The model's safeguards refused to go on with this turn. What was asked in it is left out of the "
            "conversation: send another message, with other words, use another model, or start another session.",
            refused=Refused.REQUEST,
        )
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
        case 400 | 413 | 422:
            raise _refused_request(status, said, kind)
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


def _refused_request(status: int, said: str, kind: str | None) -> SegmentFailed:
    """The CLI's own sentences name what helps in its terminal; of them only what is wrong is taken."""
    api_said = said.removeprefix(f"API Error: {status} ")
    if kind == "billing_error":
        return SegmentFailed(
            f"The Messages API refused the request ({status}): {said}. Mend that, then send another message; this one "
            "comes with it.",
            permanent=True,
        )
    if api_said != said and _OPTION.match(api_said):
        return SegmentFailed(
            f"The Messages API refused the request ({status}), for the options of the agent: {api_said}", permanent=True
        )
    known = next((what for begins, what in _KNOWN.items() if said.startswith(begins)), None)
    what = known or (api_said if api_said != said else "it does not accept what the turn holds")
    return SegmentFailed(
        f"The Messages API refused the request ({status}): {what.rstrip('.')}. What was asked in this turn is left out "
        "of the conversation: send another message, shorter or with other words, or start another session.",
        refused=Refused.REQUEST,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
