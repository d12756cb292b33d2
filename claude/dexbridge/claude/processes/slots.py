"""How many CLI processes a Worker holds, and for how long one may wait with a call."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, cast
from weakref import WeakSet, WeakValueDictionary

from dexbridge.claude.processes.machine import available_memory, usable_cores, usable_memory
from dexbridge.sessions import InvalidRequest

__all__ = ["CliProcesses", "ProcessSlots", "default_most", "memory_is_short", "shared_slots"]

_BYTES_PER_PROCESS = 256 * 1024 * 1024
_SHARE_OF_MEMORY = 0.5
_PER_CORE = 8
_PROCESSES_LEFT_FREE = 2
_LOOK_AGAIN_SECONDS = 1.0
_LONGEST_WAIT = timedelta(minutes=9)


def default_most(memory: int, cores: int) -> int:
    """How many processes such a machine holds: what half of the memory allows, at most eight per core.

    Args:
        memory: Bytes.
        cores: Their number.
    """
    return max(1, min(int(memory * _SHARE_OF_MEMORY) // _BYTES_PER_PROCESS, _PER_CORE * cores))


def memory_is_short() -> bool:
    """Whether the machine has no room for a process that only waits."""
    return available_memory() < _PROCESSES_LEFT_FREE * _BYTES_PER_PROCESS


@dataclass(frozen=True, slots=True)
class CliProcesses:
    """Bounds of the CLI processes of a Worker: flows that are given an equal value share them.

    A process whose call has left may wait for the result instead of ending: giving it the recorded result costs
    milliseconds, a new process about a third of a second. A waiting process is a cache: the database has all that is
    needed to go on without it, and when it is gone a new one is started.

    Args:
        most: How many processes at once, waiting ones included; one takes about 180 MB. By default what half of the
            memory this process may use allows (a container's limit counts), at most eight per core.
        park_call: How long a process waits for the result of a call that needs no person, at most 9 minutes. Zero:
            never.
        park_approval: The same for a call that waits for a person's approval.

    Raises:
        InvalidRequest: A value that cannot be; names all of them.
    """

    most: int | None = None
    park_call: timedelta = timedelta(seconds=60)
    park_approval: timedelta = timedelta(seconds=10)

    def __post_init__(self) -> None:
        faults: list[str] = []
        if self.most is not None and not (type(cast("object", self.most)) is int and self.most >= 1):
            faults.append(f"most must be a whole number from 1, or None for the default, not {self.most!r}")
        for name in ("park_call", "park_approval"):
            value: object = getattr(self, name)
            if not (isinstance(value, timedelta) and timedelta(0) <= value <= _LONGEST_WAIT):
                faults.append(f"{name} must be a timedelta from 0 to {_LONGEST_WAIT}, not {value!r}")
        if faults:
            raise InvalidRequest(f"CliProcesses cannot be so: {'; '.join(faults)}.")

    def bound(self, *, asks: bool) -> float:
        """Seconds a process may wait with such a call."""
        return (self.park_approval if asks else self.park_call).total_seconds()


class Evicting(Protocol):
    """Whoever holds slots that may be better used."""

    async def make_room(self) -> bool:
        """Ends a process whose wait may be long and gives its slot back; returns whether there was one."""
        ...


class ProcessSlots:
    """One slot per CLI process, given in the order they were asked for.

    Args:
        most: How many there are.
    """

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._holders: WeakSet[Evicting] = WeakSet()

    def evict_from(self, holder: Evicting) -> None:
        """Has that one asked, too, when a slot is wanted."""
        self._holders.add(holder)

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

    async def _evict(self) -> None:
        for holder in list(self._holders):
            if await holder.make_room():
                return

    def give_back(self) -> None:
        """Gives a slot to the one who has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


_shared: WeakValueDictionary[CliProcesses, ProcessSlots] = WeakValueDictionary()


def shared_slots(processes: CliProcesses) -> ProcessSlots:
    """The slots of this process for all that are given an equal value."""
    slots = _shared.get(processes)
    if slots is None:
        most = default_most(usable_memory(), usable_cores()) if processes.most is None else processes.most
        slots = _shared[processes] = ProcessSlots(most)
    return slots
