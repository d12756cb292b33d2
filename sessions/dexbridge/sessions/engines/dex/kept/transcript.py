"""A segment's transcript in pieces that stay far below the server's limits for one value."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dexbridge.sessions.state.transition import TranscriptEntry

__all__ = ["PART_CHARACTERS", "join", "split"]

PART_CHARACTERS = 48 * 1024
"""At four bytes each and escaped twice on their way, still well under one MiB."""


def split(entries: Sequence[TranscriptEntry]) -> tuple[str, ...]:
    """The entries as pieces of one text. Raises `UnicodeEncodeError` for text that has no UTF-8 form."""
    text = json.dumps([[entry.json, entry.subpath] for entry in entries], ensure_ascii=False)
    text.encode("utf-8")
    return tuple(text[first : first + PART_CHARACTERS] for first in range(0, len(text), PART_CHARACTERS))


def join(parts: Sequence[str]) -> list[TranscriptEntry]:
    """The entries of those pieces."""
    return [TranscriptEntry(entry, subpath) for entry, subpath in json.loads("".join(parts))]
