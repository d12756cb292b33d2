"""What a Worker does beside running Steps: it says that it lives, takes up legs, and finds those nothing runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

from dbos import DBOSClient

from dexbridge.sessions.engines.dbos.legs.abandoned import AbandonedLegs
from dexbridge.sessions.engines.dbos.tables.store import SessionStore
from dexbridge.sessions.engines.dbos.waking.ending import ended
from dexbridge.sessions.engines.dbos.waking.hearing import Hearing
from dexbridge.sessions.engines.dbos.waking.notices import OpenLeg
from dexbridge.sessions.engines.dbos.waking.pick_up import PickUp
from dexbridge.sessions.engines.dbos.workers.register import Sighting, WorkerRegister
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.transition import Change, Refusal, Repeated, Transition

__all__ = ["Rounds"]


class Rounds:
    """The rounds of a Worker. Made in the engine's loop and used there.

    Args:
        store: The sessions.
        dbos: Knows the state of workflows.
        worker_id: This Worker.
        flow_types: The flows it serves.
        waiting: Reads the legs that wait in its queues; blocks.
        change: Commits a change and runs the leg it opens.
        run: Starts a session's leg here; one that is started twice is run once.
        hearing: Tells of the commits of others.
    """

    def __init__(
        self,
        store: SessionStore,
        dbos: DBOSClient,
        *,
        worker_id: str,
        flow_types: Collection[str],
        waiting: Callable[[], Sequence[OpenLeg]],
        change: Callable[[str, Change], Awaitable[Transition | Refusal | Repeated]],
        run: Callable[[SessionState], None],
        hearing: Hearing,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._flow_types = flow_types
        self._register = WorkerRegister(store.engine, worker_id, flow_types, self._sighted)
        self._pick_up = PickUp(waiting, store.load, run, hearing)
        self._abandoned = AbandonedLegs(store, dbos, self._register, change, self._pick_up.take)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Says that this Worker lives, before another looks at any workflow of its own, and begins the rounds."""
        await asyncio.to_thread(self._register.start)
        self._tasks = [
            asyncio.create_task(self._abandoned.reopen_for_ever()),
            asyncio.create_task(self._pick_up.look_for_ever()),
        ]

    def heard(self, leg: OpenLeg) -> None:
        """Another process has opened a leg."""
        if leg.flow_type in self._flow_types:
            self._pick_up.take(leg)

    def look(self) -> None:
        """Any leg may wait."""
        self._pick_up.look()

    async def stop(self) -> None:
        """Ends the rounds; the Worker still lives."""
        self._abandoned.stop()
        await self._pick_up.close()
        await ended(self._tasks)

    def leave(self) -> None:
        """Says that this Worker is gone; blocks."""
        self._register.leave()

    def _sighted(self, sighting: Sighting) -> None:
        self._loop.call_soon_threadsafe(self._pick_up.share_with, len(sighting.living))
        self._loop.call_soon_threadsafe(self._abandoned.sighted, sighting)
