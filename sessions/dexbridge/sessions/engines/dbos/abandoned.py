"""Legs that are open while nothing runs them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from dbos import DBOSClient

from dexbridge.sessions.engines.dbos.leg import direct_id, queued_id
from dexbridge.sessions.engines.dbos.store import SessionStore
from dexbridge.sessions.transition import Change, Refusal, Transition
from dexbridge.sessions.turns import reopen_leg

__all__ = ["AbandonedLegs"]

logger = logging.getLogger(__name__)

_EVERY_SECONDS = 10.0


class AbandonedLegs:
    """Finds legs whose two workflows have both ended, and opens them again under another number.

    That happens when the database was away for longer than DBOS tries, when DBOS gave up recovering a workflow, and
    when the Worker that took it did not serve the session's flow.

    Args:
        store: The sessions.
        dbos: Knows the state of workflows.
        flow_types: The flows this Worker serves.
        change: Commits a change and runs the leg it opens.
    """

    def __init__(
        self,
        store: SessionStore,
        dbos: DBOSClient,
        flow_types: Sequence[str],
        change: Callable[[str, Change], Awaitable[Transition | Refusal]],
    ) -> None:
        self._store = store
        self._dbos = dbos
        self._flow_types = flow_types
        self._change = change

    async def reopen_for_ever(self) -> None:
        """Looks now and every 10 s."""
        while True:
            try:
                await self._reopen()
            except Exception as error:  # noqa: BLE001 - the next look tries again
                logger.warning("Looking for abandoned legs raised %s.", type(error).__name__)
            await asyncio.sleep(_EVERY_SECONDS)

    async def _reopen(self) -> None:
        for session_id, leg in await asyncio.to_thread(self._store.open_legs, self._flow_types):
            # In this order: as long as a leg is open under its number, one of the two is alive.
            if await asyncio.to_thread(self._is_alive, session_id, leg):
                continue
            if isinstance(await self._change(session_id, reopen_leg(leg)), Transition):
                logger.warning("Leg %s of %s was open and nothing ran it; it is run again.", leg, session_id)

    def _is_alive(self, session_id: str, leg: int) -> bool:
        return bool(
            self._dbos.list_workflows(
                workflow_ids=[direct_id(session_id, leg), queued_id(session_id, leg)],
                status=["PENDING", "ENQUEUED", "DELAYED"],
                load_input=False,
                load_output=False,
            )
        )
