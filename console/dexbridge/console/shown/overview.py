"""All sessions at a glance: what each is doing and what it wants from a person."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Final

from dexbridge.sessions import AgentSessionClient, SessionSummary

__all__ = ["Overview"]

_PAGE: Final = 500
_LOOK_SECONDS: Final = 1.0
_WHOLE_SECONDS: Final = 30.0
# Workers' clocks may differ by a second, and a commit may take a moment.
_BACK: Final = timedelta(seconds=15)


class Overview:
    """The list of sessions, of which only what has changed is read again.

    Now and then all of it is, since a session that was pruned is no change.
    """

    def __init__(self, sessions: AgentSessionClient) -> None:
        self._sessions = sessions
        self._known: dict[str, SessionSummary] = {}
        self._reading = asyncio.Lock()
        self._lines: tuple[SessionSummary, ...] = ()
        self._read_at = self._whole_at = -math.inf
        self._changed_since: datetime | None = None

    async def lines(self, *, max_age: float = 0.0) -> tuple[SessionSummary, ...]:
        """Every session, the one that changed last first; as of at most `max_age` seconds ago."""
        async with self._reading:
            began = time.monotonic()
            if began - self._read_at < max_age:
                return self._lines
            looked_at = datetime.now(UTC)
            if began - self._whole_at >= _WHOLE_SECONDS:
                self._known = await self._read(None)
                self._whole_at = began
            else:
                self._known |= await self._read(self._changed_since)
            self._changed_since = looked_at - _BACK
            self._lines = tuple(sorted(self._known.values(), key=lambda line: line.updated_at, reverse=True))
            self._read_at = time.monotonic()
            return self._lines

    async def changes(self) -> AsyncGenerator[tuple[SessionSummary, ...]]:
        """The lines now, and again whenever they have changed. Looks once a second."""
        seen: tuple[SessionSummary, ...] | None = None
        while True:
            # Several pages that watch share one look.
            lines = await self.lines(max_age=_LOOK_SECONDS / 2)
            if lines != seen:
                seen = lines
                yield lines
            await asyncio.sleep(_LOOK_SECONDS)

    async def _read(self, changed_since: datetime | None) -> dict[str, SessionSummary]:
        found: dict[str, SessionSummary] = {}
        after: str | None = None
        while True:
            page = await self._sessions.list_sessions(limit=_PAGE, after=after, changed_since=changed_since)
            found.update((summary.session_id, summary) for summary in page)
            if len(page) < _PAGE:
                return found
            after = page[-1].session_id
