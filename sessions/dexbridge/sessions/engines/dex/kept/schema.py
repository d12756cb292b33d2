"""What a session's Flow keeps on the Dex Server: Attributes, a Channel per interrupt, and a Stream of events."""

from __future__ import annotations

from typing import cast

import dex

__all__ = [
    "ATTEMPTS",
    "CALLS",
    "DECISIONS",
    "EVENTS",
    "EVENT_STREAM_BYTES",
    "MAPS",
    "MESSAGES",
    "MESSAGE_KEYS",
    "SESSION",
    "TRANSCRIPT",
    "found",
    "number",
    "persistence",
    "physical",
]

SESSION = dex.Attribute("session", str)
"""The state; every commit replaces it under its lock."""

MESSAGES = dex.AttributeMap("messages", str)
"""By number. Only appended, as everything below but `calls` and `attempts`, whose entries are closed or settled."""

EVENTS = dex.AttributeMap("events", str)
"""By sequence."""

CALLS = dex.AttributeMap("calls", str)
"""By Step execution ID."""

ATTEMPTS = dex.AttributeMap("attempts", str)
"""The attempt ledger, by Step execution ID and number."""

MESSAGE_KEYS = dex.AttributeMap("message-keys", str)
"""Digest of the text by the hash of the caller's message ID."""

TRANSCRIPT = dex.AttributeMap("transcript", str)
"""Pieces of the framework's transcript, by segment and number."""

DECISIONS = dex.ChannelMap("decisions", str)
"""Wakes an AwaitToolApproval, by its Step execution ID: its interrupt was decided, or taken back."""

MAPS = {entries.name: entries for entries in (MESSAGES, EVENTS, CALLS, ATTEMPTS, MESSAGE_KEYS, TRANSCRIPT)}

EVENT_STREAM_BYTES = 64 * 1024 * 1024


def persistence(events: dex.Stream[str]) -> dex.PersistenceSchema:
    """The schema of one Flow; a Stream belongs to one Flow only."""
    return dex.PersistenceSchema.of(
        SESSION, MESSAGES, EVENTS, CALLS, ATTEMPTS, MESSAGE_KEYS, TRANSCRIPT, DECISIONS, events
    )


def found(context: dex.Context, entries: dex.AttributeMap[str], instance: str) -> str | None:
    """An entry, or `None`; the SDK declares that there is always one."""
    return cast("str | None", entries.get(context, instance))


def number(sequence: int) -> str:
    """The key of a numbered entry; keys sort as the numbers do."""
    return f"{sequence:08d}"


def physical(entries: dex.AttributeMap[str], instance: str) -> str:
    """The name an entry has in an Attribute list."""
    return dex.Registry.physical_name(entries.name, instance)
