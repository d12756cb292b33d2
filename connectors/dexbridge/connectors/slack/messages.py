"""Reads message objects out of Slack's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from dexbridge.connectors.slack.content import text_of
from dexbridge.connectors.slack.models import SlackMessage

RawMessage = Mapping[str, Any]


@dataclass(frozen=True)
class RawPage:
    """The messages of one answer that can be read, and how many more cannot: those without a timestamp."""

    messages: tuple[RawMessage, ...]
    unreadable: int = 0


def raw_page(payload: Mapping[str, Any]) -> RawPage | None:
    """The `messages` of an answer; None when there are none to be read, though the answer should hold some."""
    found: object = payload.get("messages")
    if not isinstance(found, list):
        return None
    items = cast(list[object], found)
    messages = tuple(cast(RawMessage, item) for item in items if _is_message(item))
    return None if items and not messages else RawPage(messages, len(items) - len(messages))


def _is_message(item: object) -> bool:
    return isinstance(item, dict) and isinstance(cast(RawMessage, item).get("ts"), str)


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
        thread_timestamp=text_field(raw, "thread_ts"),
        user_id=text_field(raw, "user"),
        bot=bot_of(raw),
        text=text_of(raw),
    )


def bot_of(raw: RawMessage) -> str | None:
    """The name or the ID of the bot that wrote a message; None when a person did."""
    profile: object = raw.get("bot_profile")
    name = text_field(cast(RawMessage, profile), "name") if isinstance(profile, dict) else None
    if not any(raw.get(key) for key in ("bot_id", "app_id", "bot_profile")) and raw.get("subtype") != "bot_message":
        return None
    return text_field(raw, "username") or name or text_field(raw, "bot_id") or text_field(raw, "app_id") or "a bot"


def is_tombstone(raw: RawMessage) -> bool:
    """Whether this only marks where a deleted message stood."""
    return raw.get("subtype") == "tombstone"


def metadata_of(raw: RawMessage) -> tuple[str | None, Mapping[str, Any]]:
    """The event type and payload of a message's metadata."""
    metadata: object = raw.get("metadata")
    if not isinstance(metadata, dict):
        return None, {}
    fields = cast(Mapping[str, Any], metadata)
    payload: object = fields.get("event_payload")
    return text_field(fields, "event_type"), (cast(Mapping[str, Any], payload) if isinstance(payload, dict) else {})


def text_field(raw: Mapping[str, Any], name: str) -> str | None:
    """A field that is a text with something in it."""
    value: object = raw.get(name)
    return value if isinstance(value, str) and value else None
