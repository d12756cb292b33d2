"""Legs that other processes opened, taken up by this Worker: at once when it hears of them, else when it looks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Sequence

from dexbridge.sessions.engines.dbos.waking.ending import ended
from dexbridge.sessions.engines.dbos.waking.hearing import Hearing
from dexbridge.sessions.engines.dbos.waking.notices import OpenLeg
from dexbridge.sessions.errors import DatabaseUnavailable, UnknownSession, UnreadableSession
from dexbridge.sessions.state.session import SessionState

__all__ = ["PickUp"]

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5
_SPREAD_SECONDS_A_WORKER = 0.002
_LONGEST_SPREAD_SECONDS = 0.05


class PickUp:
    """Starts legs here that nobody has claimed.

    All Workers hear of a leg at the same moment. They begin within a few milliseconds of one another, the more Workers
    the further apart, and each looks first whether one has claimed it: so a few of many race for the claim, which one
    of them gets, and the others pay one read.

    Made in the engine's loop and used there.

    Args:
        waiting: Reads the legs that wait in the queues this Worker serves; blocks.
        load: Reads the newest state of a session; blocks.
        start: Starts a session's leg here; one that is started twice is run once.
        hearing: Where it works, nobody looks.
    """

    def __init__(
        self,
        waiting: Callable[[], Sequence[OpenLeg]],
        load: Callable[[str], SessionState],
        start: Callable[[SessionState], None],
        hearing: Hearing,
    ) -> None:
        self._waiting = waiting
        self._load = load
        self._workers = 1
        self._start = start
        self._hearing = hearing
        self._now = asyncio.Event()
        self._closing = False
        self._taking: dict[OpenLeg, asyncio.Task[None]] = {}
        # What was taken stays in the queue until DBOS comes by.
        self._taken: frozenset[OpenLeg] = frozenset()

    def take(self, leg: OpenLeg) -> None:
        """Starts the leg here, unless it is claimed."""
        if leg not in self._taking and not self._closing:
            task = asyncio.create_task(self._take(leg))
            self._taking[leg] = task
            task.add_done_callback(lambda _: self._taking.pop(leg, None))

    def share_with(self, workers: int) -> None:
        """So many Workers live, this one included."""
        self._workers = workers

    def look(self) -> None:
        """Any leg may wait."""
        self._now.set()

    async def look_for_ever(self) -> None:
        """Takes what waits, now, whenever it is time to look, and every 0.5 s where nothing is heard."""
        self._hearing.start()
        while not self._closing:
            self._now.clear()
            try:
                waiting = frozenset(await asyncio.to_thread(self._waiting))
            except Exception as error:  # noqa: BLE001 - the next look tries again
                logger.debug("Looking for waiting legs raised %s.", type(error).__name__)
            else:
                for leg in waiting - self._taken:
                    self.take(leg)
                self._taken = waiting
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self._hearing.works else _LOOK_SECONDS):
                    await self._now.wait()

    async def close(self) -> None:
        """Takes nothing any more."""
        self._closing = True
        self._now.set()
        await ended(list(self._taking.values()))

    async def _take(self, leg: OpenLeg) -> None:
        await asyncio.sleep(random.uniform(0, self._spread()))  # noqa: S311 - nothing secret
        with contextlib.suppress(DatabaseUnavailable, UnknownSession, UnreadableSession):
            state = await asyncio.to_thread(self._load, leg.session_id)
            if state.leg is not None and state.leg.number == leg.number and state.leg.claimed_by is None:
                self._start(state)

    def _spread(self) -> float:
        return min(_SPREAD_SECONDS_A_WORKER * (self._workers - 1), _LONGEST_SPREAD_SECONDS)
