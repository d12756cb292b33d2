"""What a segment adds to the transcript: kept in memory until RunModel commits it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

from claude_agent_sdk import SessionKey, SessionStoreEntry

from dexbridge.sessions import TranscriptEntry

__all__ = ["SegmentTranscript"]


class SegmentTranscript:
    """A `SessionStore` of the SDK that keeps what one segment adds. A segment that fails leaves nothing."""

    def __init__(self) -> None:
        self._added: list[TranscriptEntry] = []
        self._grown = asyncio.Condition()

    @property
    def added(self) -> tuple[TranscriptEntry, ...]:
        """The entries so far, in the order they came."""
        return tuple(self._added)

    def take(self) -> tuple[TranscriptEntry, ...]:
        """The entries since the last time; they are somebody else's to keep now."""
        taken, self._added = tuple(self._added), []
        return taken

    def add(self, entry: TranscriptEntry) -> None:
        """Adds an entry of our own."""
        self._added.append(entry)

    async def wait_for(self, wanted: Callable[[TranscriptEntry], bool], seconds: float) -> bool:
        """Waits until such an entry is there; the CLI writes within about 0.1 s. `False` past the time."""
        try:
            async with asyncio.timeout(seconds), self._grown:
                await self._grown.wait_for(lambda: any(wanted(entry) for entry in self._added))
        except TimeoutError:
            return False
        return True

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Keeps a batch; ignores the key's folder part, which differs from machine to machine."""
        subpath = key.get("subpath")
        self._added.extend(
            TranscriptEntry(json.dumps(entry, separators=(",", ":")), subpath)
            for entry in cast("list[dict[str, Any]]", entries)
        )
        async with self._grown:
            self._grown.notify_all()

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Nothing: the committed transcript lies in the CLI's configuration folder already (`resume_file`)."""
        del key
        return None
