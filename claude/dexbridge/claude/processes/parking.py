"""Processes that wait for the result of their call: a cache, never state."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from dexbridge.claude.segment import Segment
from dexbridge.sessions import CallResult, Conversation

__all__ = ["Parked", "ParkingLot"]

logger = logging.getLogger(__name__)

_SOON_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Parked:
    """A process that waits in the handler of its call.

    Attributes:
        segment: Its run.
        held: Its folder and its slot, given back when it ends.
        tool_use_id: The call it waits for.
        asks: Whether the call waits for a person.
        since: When it began to wait, on the monotonic clock.
        rows: Rows of the committed transcript it stands at. If the database has another number, it went on without it.
    """

    segment: Segment
    held: AsyncExitStack
    tool_use_id: str
    rows: int
    asks: bool
    since: float

    @property
    def may_wait_long(self) -> bool:
        """Whether its result is not just about to come; then its place is better used by another."""
        return self.asks or time.monotonic() - self.since > _SOON_SECONDS

    async def end(self) -> None:
        """Ends the process; nothing of it is needed."""
        async with self.held:
            await self.segment.close()


class ParkingLot:
    """The waiting processes of one flow, by session, the longest waiting first."""

    def __init__(self) -> None:
        self._parked: dict[str, Parked] = {}
        self._timers: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._parked)

    async def put(self, session_id: str, parked: Parked, seconds: float) -> None:
        """Keeps a process for a while."""
        await self.drop(session_id)
        self._parked[session_id] = parked
        self._timers[session_id] = asyncio.create_task(_later(seconds, lambda: self._expire(session_id, parked)))

    async def take(self, conversation: Conversation, result: CallResult | None) -> Parked | None:
        """The session's process when it waits for just this result; another one is of no use and is ended."""
        parked = self._parked.get(conversation.session_id)
        if parked is None:
            return None
        fits = (
            result is not None
            and result.tool_use_id == parked.tool_use_id
            and conversation.transcript_rows == parked.rows
            and parked.segment.alive
        )
        if not fits:
            await self.drop(conversation.session_id)
            return None
        self._forget(conversation.session_id)
        return parked

    async def drop(self, session_id: str) -> None:
        """Ends the session's process, if one waits."""
        parked = self._parked.get(session_id)
        if parked is not None:
            self._forget(session_id)
            await parked.end()

    async def make_room(self) -> bool:
        """Ends the process that has waited longest of those that may wait long; whether there was one."""
        session_id = next((name for name, parked in self._parked.items() if parked.may_wait_long), None)
        if session_id is None:
            return False
        await self.drop(session_id)
        return True

    async def close(self) -> None:
        """Ends all of them."""
        for session_id in list(self._parked):
            await self.drop(session_id)

    async def _expire(self, session_id: str, parked: Parked) -> None:
        if self._parked.get(session_id) is parked:
            del self._parked[session_id]
            self._timers.pop(session_id, None)
            logger.debug("The waiting CLI of %s is ended; it is started again when its result is there.", session_id)
            await parked.end()

    def _forget(self, session_id: str) -> None:
        del self._parked[session_id]
        timer = self._timers.pop(session_id, None)
        if timer is not None:
            timer.cancel()


async def _later(seconds: float, then: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(seconds)
    # The sleep may be cancelled, the end of a process must not be.
    await asyncio.shield(then())
