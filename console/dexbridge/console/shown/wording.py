"""How a call and a Step are called for a person."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from dexbridge.console.shown.text import shortened
from dexbridge.sessions import CallRecord, Message
from dexbridge.toolsource import OutcomeKind

__all__ = [
    "call_title",
    "decision_words",
    "instant",
    "left_out_label",
    "message_link",
    "outcome_label",
    "settled_words",
    "settler",
]

_LABELS: Final[Mapping[str, str]] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "outcome_unknown": "outcome unknown",
    "rejected": "rejected",
    "cancelled": "cancelled",
}


def left_out_label(message: Message) -> str:
    """What is said beside a message the model is not given any more; empty for others."""
    return "" if message.left_out is None else f" ({message.left_out.value}: left out of the agent's conversation)"


def outcome_label(outcome: str) -> str:
    """An outcome in words."""
    return _LABELS.get(outcome, outcome)


def instant(moment: datetime) -> str:
    """A time of the record, to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def decision_words(call: CallRecord) -> str:
    """Who said what to a call, and when."""
    if call.decision is None:
        return "none recorded"
    when = "" if call.decided_at is None else f", {instant(call.decided_at)}"
    return f"{call.decision} by {call.decided_by or 'a person who gave no name'}{when}"


def settled_words(call: CallRecord) -> str:
    """Who settled an outcome that was unknown, as what, and when."""
    sent = "it was sent" if call.outcome is OutcomeKind.SUCCEEDED else "it was not sent"
    when = "" if call.settled_at is None else f", {instant(call.settled_at)}"
    return f"by {settler(call)}, {sent}{when}{f': {call.note}' if call.note else ''}"


def settler(call: CallRecord) -> str:
    """Who settled it."""
    return "the provider's late answer" if call.settled_by == "provider" else call.settled_person or "a person"


def call_title(tool: str, connection: str | None, arguments: Mapping[str, Any]) -> str:
    """A call on one line: `Slack · reply in C012… thread 1712…: 'Ships Thursday'`."""
    connector = (connection or "").partition("/")[0]
    if connector == "slack" and (title := _slack(arguments)) is not None:
        return f"Slack · {title}"
    said = ", ".join(
        f"{shortened(name, 40, exactly=True)} {shortened(value, 40, exactly=True)}" for name, value in arguments.items()
    )
    who = f"{connector.capitalize()} · " if connector else ""
    return shortened(f"{who}{tool}{': ' if said else ''}{said}", 160)


def _slack(arguments: Mapping[str, Any]) -> str | None:
    channel, thread, text = (arguments.get(name) for name in ("channel_id", "thread_timestamp", "text"))
    if not isinstance(channel, str):
        return None
    where = shortened(channel, 20, exactly=True)
    if isinstance(thread, str):
        where += f" thread {shortened(thread, 20, exactly=True)}"
    if isinstance(text, str):
        return f"{'reply' if isinstance(thread, str) else 'post'} in {where}: '{shortened(text, 60, exactly=True)}'"
    return f"read {where}"


def message_link(call: CallRecord, workspaces: Mapping[str, str]) -> str | None:
    """The address of the message a call posted, when it can be known.

    Args:
        call: The call.
        workspaces: Address of a connection's Slack workspace, `https://acme.slack.com`, by `slack/<connection>`.
    """
    workspace = workspaces.get(call.connection or "")
    posted: Any = (call.receipt or {}).get("provider_object_id")
    channel: Any = call.arguments.get("channel_id")
    if workspace is None or not isinstance(posted, str) or not isinstance(channel, str):
        return None
    if not posted.replace(".", "").isdecimal() or not channel.isalnum():
        return None
    link = f"{workspace.rstrip('/')}/archives/{channel}/p{posted.replace('.', '')}"
    thread: Any = call.arguments.get("thread_timestamp")
    if isinstance(thread, str) and thread.replace(".", "").isdecimal():
        link += f"?thread_ts={thread}&cid={channel}"
    return link
