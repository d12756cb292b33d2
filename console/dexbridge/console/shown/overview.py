"""All sessions at a glance: what each is doing and what it wants from a person."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dexbridge.console.shown.text import shortened
from dexbridge.sessions import (
    AgentSessionClient,
    CallRecord,
    Interrupt,
    Role,
    SessionSnapshot,
    SessionSummary,
    UnknownSession,
)
from dexbridge.toolsource import OutcomeKind

__all__ = ["Overview", "SessionLine", "pending_interrupt", "unknown_calls"]

_PAGE: Final = 200
_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session in the list.

    Attributes:
        title: The beginning of its first message.
        interrupt: The call that waits for a decision.
        unknown: Calls whose outcome nobody knows yet.
    """

    session_id: str
    flow_type: str
    status: str
    updated_at: datetime
    title: str
    failed: bool
    interrupt: Interrupt | None
    unknown: tuple[CallRecord, ...]

    @property
    def wants(self) -> int:
        """How many decisions it waits for."""
        return (self.interrupt is not None) + len(self.unknown)


def pending_interrupt(snapshot: SessionSnapshot) -> Interrupt | None:
    """The call that waits for a decision, if none was made."""
    return snapshot.state.interrupt if snapshot.state.decision is None else None


def unknown_calls(snapshot: SessionSnapshot) -> tuple[CallRecord, ...]:
    """The calls whose outcome is not known."""
    return tuple(call for call in snapshot.calls if call.outcome is OutcomeKind.OUTCOME_UNKNOWN)


class Overview:
    """Reads the sessions, and each one's snapshot only when it has changed since.

    Everything shown comes from the database; what is kept is thrown away as soon as a session's `updated_at` differs.
    """

    def __init__(self, sessions: AgentSessionClient) -> None:
        self._sessions = sessions
        self._known: dict[str, tuple[str, SessionLine]] = {}
        self._reading = asyncio.Lock()
        self._lines: tuple[SessionLine, ...] = ()
        self._read_at = -math.inf

    async def lines(self, *, max_age: float = 0.0) -> tuple[SessionLine, ...]:
        """Every session, the one that changed last first; as of at most `max_age` seconds ago."""
        async with self._reading:
            if time.monotonic() - self._read_at < max_age:
                return self._lines
            summaries = await self._summaries()
            gone = self._known.keys() - {summary.session_id for summary in summaries}
            for session_id in gone:
                del self._known[session_id]
            for summary in summaries:
                known = self._known.get(summary.session_id)
                if known is None or known[0] != summary.updated_at:
                    await self._read(summary)
            lines = (line for _, line in self._known.values())
            self._lines = tuple(sorted(lines, key=lambda line: line.updated_at, reverse=True))
            self._read_at = time.monotonic()
            return self._lines

    async def changes(self) -> AsyncGenerator[tuple[SessionLine, ...]]:
        """The lines now, and again whenever they have changed. Looks once a second."""
        seen: tuple[SessionLine, ...] | None = None
        while True:
            # Several pages that watch share one look.
            lines = await self.lines(max_age=_LOOK_SECONDS / 2)
            if lines != seen:
                seen = lines
                yield lines
            await asyncio.sleep(_LOOK_SECONDS)

    async def _summaries(self) -> list[SessionSummary]:
        found: list[SessionSummary] = []
        while True:
            page = await self._sessions.list_sessions(limit=_PAGE, after=found[-1].session_id if found else None)
            found += page
            if len(page) < _PAGE:
                return found

    async def _read(self, summary: SessionSummary) -> None:
        try:
            snapshot = await self._sessions.get_snapshot(summary.session_id)
        except UnknownSession:
            self._known.pop(summary.session_id, None)
            return
        first = next((message.text for message in snapshot.messages if message.role is Role.USER), "")
        line = SessionLine(
            session_id=summary.session_id,
            flow_type=summary.flow_type,
            status=snapshot.state.status.value,
            updated_at=datetime.fromisoformat(summary.updated_at),
            title=shortened(first, 90),
            failed=snapshot.state.last_error is not None,
            interrupt=pending_interrupt(snapshot),
            unknown=unknown_calls(snapshot),
        )
        self._known[summary.session_id] = (summary.updated_at, line)
