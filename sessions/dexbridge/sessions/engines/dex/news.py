"""Tells who follows a session that it may have changed in this process; others' commits are seen at the next look."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["LOOK_SECONDS", "News", "wait_for"]

LOOK_SECONDS = 1.0


class News:
    """Wakes the followers of sessions. Used in one loop."""

    def __init__(self) -> None:
        self._followers: dict[str, list[asyncio.Event]] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether nobody is to wait any more."""
        return self._closed

    @contextmanager
    def following(self, session_id: str) -> Generator[asyncio.Event]:
        """An event that is set when the session changes; clear it, then read, then wait for it."""
        changed = asyncio.Event()
        if self._closed:
            changed.set()
        self._followers.setdefault(session_id, []).append(changed)
        try:
            yield changed
        finally:
            self._followers[session_id].remove(changed)
            if not self._followers[session_id]:
                del self._followers[session_id]

    def tell(self, session_id: str) -> None:
        """The session has changed."""
        for changed in self._followers.get(session_id, ()):
            changed.set()

    def close(self) -> None:
        """Wakes everyone, and whoever comes later."""
        self._closed = True
        for session_id in list(self._followers):
            self.tell(session_id)


async def wait_for(changed: asyncio.Event, seconds: float = LOOK_SECONDS) -> None:
    """Waits for the event, at most so long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await changed.wait()
