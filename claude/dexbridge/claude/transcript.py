"""The transcript of a segment: read from the committed entries, written to memory until RunModel commits."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import SessionKey, SessionStoreEntry, project_key_for_directory

from dexbridge.sessions import TranscriptEntry

__all__ = ["SegmentTranscript", "write_transcript"]

_AGENT_METADATA = '"agent_metadata"'


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
        """Nothing: the committed transcript lies in the CLI's configuration folder already (`write_transcript`)."""
        del key
        return None


def write_transcript(configuration: Path, cwd: str, conversation_id: str, entries: Sequence[TranscriptEntry]) -> None:
    """Writes the committed transcript where the CLI looks for the conversation it resumes.

    Args:
        configuration: The CLI's `CLAUDE_CONFIG_DIR`, private to one segment.
        cwd: The CLI's working folder; the CLI keeps conversations by it.
        conversation_id: Claude's session ID.
        entries: Committed entries in order. Each is written as it was stored.
    """
    project = configuration / "projects" / project_key_for_directory(cwd)
    lines: dict[Path, list[str]] = {}
    for entry in entries:
        if entry.subpath is None:
            file = project / f"{conversation_id}.jsonl"
        else:
            file = project / conversation_id / f"{entry.subpath}.jsonl"
            if _AGENT_METADATA in entry.json and (metadata := _agent_metadata(entry.json)) is not None:
                # The CLI keeps what describes a subagent beside its transcript; the newest one holds.
                lines[file.with_name(f"{file.name.removesuffix('.jsonl')}.meta.json")] = [metadata]
                continue
        lines.setdefault(file, []).append(entry.json)
    for file, texts in lines.items():
        if not file.resolve().is_relative_to(configuration.resolve()):
            raise ValueError(f"The transcript names the place {str(file)!r}, outside its own folder.")
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as out:
            out.writelines(f"{text}\n" for text in texts)


def _agent_metadata(text: str) -> str | None:
    entry = cast("dict[str, Any]", json.loads(text))
    if entry.pop("type", None) != "agent_metadata":
        return None
    return json.dumps(entry)
