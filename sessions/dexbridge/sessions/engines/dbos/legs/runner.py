"""Runs the Steps of legs in this Worker: claimed here, and run by the host of Steps."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.hosting.port import HostedSessions
from dexbridge.sessions.hosting.step_host import StepHost
from dexbridge.sessions.state.session import SessionState, SessionStatus
from dexbridge.sessions.state.transition import Change, Refusal, Transition

__all__ = ["LocalLegRunner"]

T = TypeVar("T")


class LocalLegRunner:
    """The `LegRunner` of a Worker.

    Args:
        flows: By flow type.
        sessions: Where sessions are.
        host: Runs their Steps.
        loop: The loop the engine was opened in, where the application's own resources live.
    """

    def __init__(
        self,
        flows: Mapping[str, AgentSessionFlow],
        sessions: HostedSessions,
        host: StepHost,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._flows = flows
        self._sessions = sessions
        self._host = host
        self._loop = loop
        # Sessions as the last commit of a leg here left them; the Step that follows need not read them again.
        self._left: dict[str, SessionState] = {}

    async def claim(self, session_id: str, leg: int, workflow_id: str) -> int | None:
        """See `LegRunner`."""
        return await self._at_home(self._claim(session_id, leg, workflow_id))

    async def run_step(self, session_id: str, leg: int, epoch: int, step_execution_id: str) -> str | None:
        """See `LegRunner`."""
        return await self._at_home(self._run_step(session_id, leg, epoch, step_execution_id))

    async def _claim(self, session_id: str, leg: int, workflow_id: str) -> int | None:
        with self._host.counted():
            result = await self._sessions.commit(session_id, self._claiming(leg, workflow_id))
        if isinstance(result, Refusal):
            return None
        assert result.state.leg is not None
        self._left[session_id] = result.state
        return result.state.leg.epoch

    def _claiming(self, leg: int, workflow_id: str) -> Change:
        def change(state: SessionState) -> Transition | Refusal:
            if state.flow_type not in self._flows:
                return Refusal("this process does not serve the session's flow")
            if state.leg is None or state.leg.number != leg or state.leg.claimed_by not in (None, workflow_id):
                return Refusal("the leg is another run's, or over")
            return Transition(state.with_claim(state.leg, workflow_id))

        return change

    async def _run_step(self, session_id: str, leg: int, epoch: int, step_execution_id: str) -> str | None:
        with self._host.counted():
            # What others change meanwhile is seen where it matters: under the lock of the ledger and of the commit.
            state = self._left.pop(session_id, None)
            if state is None or not _is_ours(state, leg, epoch):
                state = await self._sessions.load(session_id)
            if not _is_ours(state, leg, epoch) or state.due is None:
                return None
            if state.due.id != step_execution_id:
                # Committed by an earlier run of it, which was lost right afterwards; the leg goes on from here.
                return state.due.id
            after = await self._host.run(state)
            if after is None or after.due is None or not _is_ours(after, leg, epoch):
                return None
            self._left[session_id] = after
            return after.due.id

    async def _at_home(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs work in the engine's loop. Workflows run in others: in `LegLoop`, or in DBOS's own."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


def _is_ours(state: SessionState, leg: int, epoch: int) -> bool:
    return (
        state.status is SessionStatus.RUNNING
        and state.leg is not None
        and state.leg.number == leg
        and state.leg.epoch == epoch
    )
