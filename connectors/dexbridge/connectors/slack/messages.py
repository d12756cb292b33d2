"""Reads message objects out of Slack's answers."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, cast

from dexbridge.connectors.http.page import Page, Raw, page_of
from dexbridge.connectors.slack.content import text_of
from dexbridge.connectors.slack.models import SlackMessage


def read_messages(payload: Mapping[str, Any]) -> Page | None:
    """The `messages` of an answer that have a timestamp; None when there are none, though it should hold some."""
    return page_of(payload.get("messages"), lambda raw: isinstance(raw.get("ts"), str))


def next_cursor(payload: Mapping[str, Any]) -> str | None:
    """The cursor of the next page, None on the last one."""
    metadata: object = payload.get("response_metadata")
    if not isinstance(metadata, dict):
        return None
    cursor: object = cast(Mapping[str, Any], metadata).get("next_cursor")
    return cursor if isinstance(cursor, str) and cursor else None


def names_a_time(cursor: str) -> bool:
    """Whether the page behind a cursor begins at a time; behind a number of messages it would move with each deletion.

    Slack calls its cursors opaque, so what this one is has to be seen from itself.
    """
    try:
        return re.fullmatch(rb"next_ts:\d{10,20}", base64.b64decode(cursor, validate=True)) is not None
    except ValueError:
        return False


def to_message(channel_id: str, raw: Raw) -> SlackMessage:
    """One message in our form."""
    return SlackMessage(
        channel_id=channel_id,
        timestamp=raw["ts"],
        thread_timestamp=text_field(raw, "thread_ts"),
        user_id=text_field(raw, "user"),
        bot=bot_of(raw),
        text=text_of(raw),
    )


def bot_of(raw: Raw) -> str | None:
    """The name or the ID of the bot that wrote a message; None when a person did."""
    profile: object = raw.get("bot_profile")
    name = text_field(cast(Raw, profile), "name") if isinstance(profile, dict) else None
    if not any(raw.get(key) for key in ("bot_id", "app_id", "bot_profile")) and raw.get("subtype") != "bot_message":
        return None
    return text_field(raw, "username") or name or text_field(raw, "bot_id") or text_field(raw, "app_id") or "a bot"


def is_tombstone(raw: Raw) -> bool:
    """Whether this only marks where a deleted message stood."""
    return raw.get("subtype") == "tombstone"


def metadata_of(raw: Raw) -> tuple[str | None, Mapping[str, Any]]:
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
