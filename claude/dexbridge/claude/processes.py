"""How many CLI processes a Worker holds, and for how long one may wait with a call."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from dexbridge.claude.machine import usable_cores, usable_memory

__all__ = ["CliProcesses", "ProcessSlots"]

_BYTES_PER_PROCESS = 256 * 1024 * 1024
_SHARE_OF_MEMORY = 0.5
_PER_CORE = 8
_LOOK_AGAIN_SECONDS = 1.0


def _default_most() -> int:
    by_memory = int(usable_memory() * _SHARE_OF_MEMORY) // _BYTES_PER_PROCESS
    return max(1, min(by_memory, _PER_CORE * usable_cores()))


@dataclass(frozen=True, slots=True)
class CliProcesses:
    """Bounds of the CLI processes of one flow in one Worker.

    A process whose call has left may wait for the result instead of ending: giving it the recorded result costs
    milliseconds, a new process about a third of a second. A waiting process is a cache: the database has all that is
    needed to go on without it, and when it is gone a new one is started.

    Args:
        most: How many processes at once, waiting ones included; one takes about 180 MB. By default what half of the
            memory this process may use allows (a container's limit counts), at most eight per core.
        park_call: How long a process waits for the result of a call that needs no person. Zero: never.
        park_approval: The same for a call that waits for a person's approval.
    """

    most: int | None = None
    park_call: timedelta = timedelta(seconds=60)
    park_approval: timedelta = timedelta(seconds=10)

    def bound(self, *, asks: bool) -> float:
        """Seconds a process may wait with such a call."""
        return (self.park_approval if asks else self.park_call).total_seconds()


class ProcessSlots:
    """One slot per CLI process, given in the order they were asked for.

    Args:
        most: How many there are; `None` for the default.
        evict: Ends a process whose wait may be long and gives its slot back; returns whether there was one.
    """

    def __init__(self, most: int | None, evict: Callable[[], Awaitable[bool]]) -> None:
        self._free = _default_most() if most is None else most
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._evict = evict

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for a slot."""
        return bool(self._waiting)

    async def take(self) -> None:
        """Takes a slot; one held by a process that waits for long is better used by a running one."""
        if self._free == 0:
            await self._evict()
        if self._free > 0 and not self._waiting:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            while not turn.done():
                await asyncio.wait((turn,), timeout=_LOOK_AGAIN_SECONDS)
                if not turn.done():
                    await self._evict()
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            else:
                self._waiting.remove(turn)
            raise

    def give_back(self) -> None:
        """Gives a slot to the one who has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
