"""Guesses at the operator's key are slowed down; nobody is locked out, least of all who knows it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from dexbridge.console.web.refusals import Refused

__all__ = ["Attempts"]

_WRONG_KEYS: Final = 10
_WITHIN_SECONDS: Final = 60.0
_APART_SECONDS: Final = 1.0
_MOST_WAITING: Final = 5
_MOST_ADDRESSES: Final = 1_000


@dataclass(slots=True)
class _Address:
    wrong: deque[float] = field(default_factory=deque[float])
    waiting: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def is_slowed(self, now: float) -> bool:
        while self.wrong and now - self.wrong[0] > _WITHIN_SECONDS:
            self.wrong.popleft()
        return len(self.wrong) >= _WRONG_KEYS


class Attempts:
    """After ten wrong keys in a minute from one address, its attempts, right or wrong, take turns a second apart.

    At most five wait; others are told to come back. Attempts from other addresses do not notice.
    """

    def __init__(self) -> None:
        self._addresses: dict[str, _Address] = {}

    async def wait_for_turn(self, address: str) -> None:
        """Returns when an attempt from the address may be checked.

        Raises:
            Refused: 429 with Retry-After, when too many from that address wait already.
        """
        found = self._addresses.get(address)
        if found is None or not found.is_slowed(time.monotonic()):
            return
        if found.waiting >= _MOST_WAITING:
            said = "Too many wrong keys came from this address, and others wait: try again in some seconds."
            raise Refused(429, [("key", said)], {"Retry-After": str(_MOST_WAITING)})
        found.waiting += 1
        try:
            async with found.turn:
                await asyncio.sleep(_APART_SECONDS)
        finally:
            found.waiting -= 1

    def count_wrong(self, address: str) -> None:
        """Remembers a wrong key."""
        now = time.monotonic()
        if len(self._addresses) >= _MOST_ADDRESSES:
            for known in [one for one, it in self._addresses.items() if not it.waiting and not it.is_slowed(now)]:
                del self._addresses[known]
        wrong = self._addresses.setdefault(address, _Address()).wrong
        wrong.append(now)
        if len(wrong) > _WRONG_KEYS:
            wrong.popleft()
