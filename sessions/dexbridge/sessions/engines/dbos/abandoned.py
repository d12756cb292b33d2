"""Legs that are open while nothing runs them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from dbos import DBOSClient

from dexbridge.sessions.engines.dbos.leg import direct_id, queued_id
from dexbridge.sessions.engines.dbos.store import SessionStore
from dexbridge.sessions.engines.dbos.workers import BEAT_SECONDS, WorkerRegister
from dexbridge.sessions.errors import DatabaseUnavailable
from dexbridge.sessions.transition import Change, Refusal, Repeated, Transition
from dexbridge.sessions.turns import reopen_leg

__all__ = ["AbandonedLegs"]

logger = logging.getLogger(__name__)


class AbandonedLegs:
    """Finds legs whose two workflows have ended or belong to a lost Worker, and opens them under another number.

    A Worker that was only slow commits nothing then, since its leg is no longer the session's. Workflows also end
    without closing their leg when the database was away for longer than DBOS tries, when DBOS gave up recovering one,
    and when a Worker of a newer version had to take it, whose state the others cannot read.

    Args:
        store: The sessions.
        dbos: Knows the state of workflows.
        register: Knows the living Workers.
        flow_types: The flows this Worker serves.
        change: Commits a change and runs the leg it opens.
    """

    def __init__(
        self,
        store: SessionStore,
        dbos: DBOSClient,
        register: WorkerRegister,
        flow_types: Sequence[str],
        change: Callable[[str, Change], Awaitable[Transition | Refusal | Repeated]],
    ) -> None:
        self._store = store
        self._dbos = dbos
        self._register = register
        self._flow_types = flow_types
        self._change = change

    async def reopen_for_ever(self) -> None:
        """Looks for what others left, now and every 2 s."""
        while True:
            try:
                with contextlib.suppress(DatabaseUnavailable):  # `Outage` has said it
                    await self._reopen()
            except Exception as error:  # noqa: BLE001 - the next look tries again
                logger.warning("Looking for abandoned legs raised %s.", type(error).__name__)
            await asyncio.sleep(BEAT_SECONDS)

    async def _reopen(self) -> None:
        # In this order: as long as a leg is open under its number, one of its workflows is alive.
        legs = await asyncio.to_thread(self._store.open_legs, self._flow_types)
        if not legs:
            return
        living = await asyncio.to_thread(self._living_workflows, legs)
        for session_id, leg in legs:
            workflows = [direct_id(session_id, leg), queued_id(session_id, leg)]
            if living.intersection(workflows):
                continue
            try:
                if isinstance(await self._change(session_id, reopen_leg(leg)), Transition):
                    logger.warning("Leg %s of %s was open and nothing ran it; it is run again.", leg, session_id)
                    await asyncio.to_thread(self._dbos.cancel_workflows, workflows)
            except Exception as error:  # noqa: BLE001 - one session that cannot be reopened must not hold the others
                logger.warning("Reopening leg %s of %s raised %s.", leg, session_id, type(error).__name__)

    def _living_workflows(self, legs: Sequence[tuple[str, int]]) -> frozenset[str]:
        found = self._dbos.list_workflows(
            workflow_ids=[identity(*leg) for leg in legs for identity in (direct_id, queued_id)],
            status=["PENDING", "ENQUEUED", "DELAYED"],
            load_input=False,
            load_output=False,
        )
        workers = self._register.living()
        return frozenset(
            workflow.workflow_id
            for workflow in found
            if workflow.status != "PENDING" or workflow.executor_id in workers
        )
