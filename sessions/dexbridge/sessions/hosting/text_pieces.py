"""Text as a model writes it, for those who listen in this process. Best effort: nothing of it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

__all__ = ["TextPieces"]

_MOST_WAITING = 1_000


class TextPieces:
    """Hands each piece of text to the listeners of its session; one that does not keep up loses pieces."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[asyncio.Queue[str | None]]] = {}

    def say(self, session_id: str, text: str) -> None:
        """The session's model has written this."""
        for listener in self._listeners.get(session_id, ()):
            if listener.qsize() < _MOST_WAITING:
                listener.put_nowait(text)

    async def listen(self, session_id: str) -> AsyncGenerator[str]:
        """The pieces from now on, until `close`."""
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self._listeners.setdefault(session_id, []).append(pieces)
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
        finally:
            self._listeners[session_id].remove(pieces)
            if not self._listeners[session_id]:
                del self._listeners[session_id]

    def close(self) -> None:
        """Ends all listening."""
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.put_nowait(None)
