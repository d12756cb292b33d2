"""Reads message objects out of Slack's answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from dexbridge.connectors.slack.models import SlackMessage

RawMessage = Mapping[str, Any]


def raw_messages(payload: Mapping[str, Any]) -> tuple[RawMessage, ...] | None:
    """The `messages` of a page; None when they do not have the documented form."""
    found: object = payload.get("messages")
    if not isinstance(found, list):
        return None
    raw: list[RawMessage] = []
    for item in cast(list[object], found):
        if not isinstance(item, dict):
            return None
        message = cast(RawMessage, item)
        if not isinstance(message.get("ts"), str) or not isinstance(message.get("text", ""), str):
            return None
        raw.append(message)
    return tuple(raw)


def next_cursor(payload: Mapping[str, Any]) -> str | None:
    """The cursor of the next page, None on the last one."""
    metadata: object = payload.get("response_metadata")
    if not isinstance(metadata, dict):
        return None
    cursor: object = cast(Mapping[str, Any], metadata).get("next_cursor")
    return cursor if isinstance(cursor, str) and cursor else None


def to_message(channel_id: str, raw: RawMessage) -> SlackMessage:
    """One message in our form."""
    return SlackMessage(
        channel_id=channel_id,
        timestamp=raw["ts"],
        thread_timestamp=_text(raw.get("thread_ts")),
        user_id=_text(raw.get("user")),
        text=_text(raw.get("text")) or "",
    )


def metadata_of(raw: RawMessage) -> tuple[str | None, Mapping[str, Any]]:
    """The event type and payload of a message's metadata."""
    metadata: object = raw.get("metadata")
    if not isinstance(metadata, dict):
        return None, {}
    fields = cast(Mapping[str, Any], metadata)
    payload: object = fields.get("event_payload")
    return _text(fields.get("event_type")), (cast(Mapping[str, Any], payload) if isinstance(payload, dict) else {})


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
