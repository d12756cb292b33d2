"""Legs that are open while nothing runs them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from dbos import DBOSClient, WorkflowStatus

from dexbridge.sessions.changes.turns import reopen_leg
from dexbridge.sessions.engines.dbos.databases.database import answering
from dexbridge.sessions.engines.dbos.legs.workflow import direct_id, queued_id, running_here
from dexbridge.sessions.engines.dbos.tables.store import SessionStore
from dexbridge.sessions.engines.dbos.waking.notices import OpenLeg
from dexbridge.sessions.engines.dbos.workers.register import Sighting, WorkerRegister
from dexbridge.sessions.errors import DatabaseUnavailable
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.transition import Change, Refusal, Repeated, Transition

__all__ = ["AbandonedLegs"]

logger = logging.getLogger(__name__)


class _Fate(Enum):
    """What became of the run of a leg."""

    RUNS = auto()
    """A living Worker has it, or DBOS will start it."""

    WAITS = auto()
    """It is in the queue, and no Worker has begun it."""

    IDLE_HERE = auto()
    """DBOS has it as this Worker's and it does not run here: not yet, or no more, or it never will."""

    LOST = auto()
    """It has ended without closing the leg, or its Worker is lost."""


@dataclass(frozen=True, slots=True)
class _Leg:
    """An open leg as a look found it."""

    open: OpenLeg
    claimed_by: str | None

    @property
    def workflows(self) -> tuple[str, str]:
        """Its two workflows: the one that is begun at once, and the one in the queue."""
        return direct_id(self.open.session_id, self.open.number), queued_id(self.open.session_id, self.open.number)


class AbandonedLegs:
    """Finds legs that nothing runs, and opens them under another number; one that was never begun is begun.

    A Worker that was only slow commits nothing then, since its leg is no longer the session's. Workflows also end
    without closing their leg when DBOS could not begin one, when it gave up recovering one, and when a Worker of a
    newer version had to take it, whose state the others cannot read.

    Args:
        store: The sessions.
        dbos: Knows the state of workflows.
        register: Knows this Worker, and which live.
        change: Commits a change and runs the leg it opens.
        begin: Starts a leg here that is not claimed.
    """

    def __init__(
        self,
        store: SessionStore,
        dbos: DBOSClient,
        register: WorkerRegister,
        change: Callable[[str, Change], Awaitable[Transition | Refusal | Repeated]],
        begin: Callable[[OpenLeg], None],
    ) -> None:
        self._store = store
        self._dbos = dbos
        self._register = register
        self._change = change
        self._begin = begin
        self._newest: Sighting | None = None
        self._sighted = asyncio.Event()
        self._stopped = False
        self._known: dict[str, tuple[int, _Leg | None]] = {}
        self._doubtful: Mapping[_Leg, _Fate] = {}

    def sighted(self, sighting: Sighting) -> None:
        """Takes what a sign of life saw."""
        self._newest = sighting
        self._sighted.set()

    def stop(self) -> None:
        """Looks no more."""
        self._stopped = True
        self._sighted.set()

    async def reopen_for_ever(self) -> None:
        """Looks for what was left at every sign of life of this Worker, until `stop`."""
        while True:
            await self._sighted.wait()
            self._sighted.clear()
            if self._stopped or self._newest is None:
                return
            try:
                await self._look(self._newest)
            except DatabaseUnavailable:
                continue  # `Outage` has said it
            except Exception as error:  # noqa: BLE001 - the next look tries again
                logger.warning("Looking for abandoned legs raised %s.", type(error).__name__)

    async def _look(self, sighting: Sighting) -> None:
        # In this order: as long as a leg is open under its number, one of its workflows is alive.
        legs = await self._legs(sighting.running)
        if not legs:
            self._doubtful = {}
            return
        found = await asyncio.to_thread(self._unfinished, legs)
        fates = {leg: self._fate(leg, found, sighting.living) for leg in legs}
        if _Fate.LOST in fates.values():
            # A Worker that came since the sign of life may have begun something since, too.
            living = await asyncio.to_thread(self._register.living)
            fates = {leg: self._fate(leg, found, living) for leg in legs}
        for leg, fate in fates.items():
            # What may pass by itself is waited for until the next look.
            if fate is _Fate.LOST or (fate is _Fate.IDLE_HERE and self._doubtful.get(leg) is fate):
                await self._reopen(leg)
            elif fate is _Fate.WAITS and self._doubtful.get(leg) is fate:
                self._begin(leg.open)
        self._doubtful = fates

    async def _legs(self, running: Mapping[str, int]) -> Sequence[_Leg]:
        """The open legs of those sessions; only what has changed is read."""
        changed = [session for session, version in running.items() if self._known.get(session, (0,))[0] != version]
        states = await asyncio.to_thread(self._store.states, changed)
        known = {session: entry for session, entry in self._known.items() if session in running}
        for session, (version, state) in states.items():
            known[session] = (version, _leg_of(state))
        self._known = known
        return [leg for _, leg in known.values() if leg is not None]

    def _unfinished(self, legs: Sequence[_Leg]) -> Mapping[str, WorkflowStatus]:
        with answering(self._store.engine):
            found = self._dbos.list_workflows(
                workflow_ids=[identity for leg in legs for identity in leg.workflows],
                status=["PENDING", "ENQUEUED", "DELAYED"],
                load_input=False,
                load_output=False,
            )
        return {workflow.workflow_id: workflow for workflow in found}

    def _fate(self, leg: _Leg, found: Mapping[str, WorkflowStatus], living: frozenset[str]) -> _Fate:
        if leg.claimed_by is not None and leg.claimed_by in leg.workflows:
            claimed = self._fate_of(found.get(leg.claimed_by), living)
            return _Fate.RUNS if claimed is _Fate.WAITS else claimed
        direct, queued = (self._fate_of(found.get(identity), living) for identity in leg.workflows)
        for fate in (_Fate.RUNS, _Fate.IDLE_HERE):
            if fate in (direct, queued):
                return fate
        if queued is _Fate.WAITS and leg.claimed_by is None and leg.workflows[0] not in found:
            return _Fate.WAITS
        return _Fate.RUNS if _Fate.WAITS in (direct, queued) else _Fate.LOST

    def _fate_of(self, workflow: WorkflowStatus | None, living: frozenset[str]) -> _Fate:
        if workflow is None:
            return _Fate.LOST
        if workflow.status != "PENDING":
            return _Fate.WAITS
        if workflow.executor_id == self._register.worker_id:
            return _Fate.RUNS if workflow.workflow_id in running_here() else _Fate.IDLE_HERE
        return _Fate.RUNS if workflow.executor_id in living else _Fate.LOST

    async def _reopen(self, leg: _Leg) -> None:
        session_id, number = leg.open.session_id, leg.open.number

        def unless_claimed_since(state: SessionState) -> Transition | Refusal:
            if state.leg is not None and state.leg.claimed_by != leg.claimed_by:
                return Refusal("another run has claimed the leg")
            return reopen_leg(number)(state)

        try:
            if isinstance(await self._change(session_id, unless_claimed_since), Transition):
                logger.warning("Leg %s of %s was open and nothing ran it; it is run again.", number, session_id)
                await asyncio.to_thread(self._dbos.cancel_workflows, list(leg.workflows))
        except Exception as error:  # noqa: BLE001 - one session that cannot be reopened must not hold the others
            logger.warning("Reopening leg %s of %s raised %s.", number, session_id, type(error).__name__)


def _leg_of(state: SessionState | None) -> _Leg | None:
    if state is None or state.leg is None:
        return None
    return _Leg(OpenLeg(state.flow_type, state.session_id, state.leg.number), state.leg.claimed_by)
