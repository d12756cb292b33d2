"""One execution of a Step on a Dex Worker: claimed for this run, and run by the host of Steps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import dex

from dexbridge.sessions.engines.dex.kept.stored import Due
from dexbridge.sessions.engines.dex.step_options import HEARTBEAT_SECONDS
from dexbridge.sessions.hosting.port import HostedSessions
from dexbridge.sessions.hosting.step_host import StepHost
from dexbridge.sessions.state.session import SessionState, SessionStatus
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Refusal, Transition

__all__ = ["StepRun"]

logger = logging.getLogger(__name__)

_TOOL_STEPS = (StepType.CALL_TOOL, StepType.CALL_SINGLE_ATTEMPT_TOOL)
_REACHING_OUTSIDE = (StepType.RUN_MODEL, *_TOOL_STEPS)
# A run of Recover takes over from every attempt of the Step itself.
_RECOVERY_RANK = 10_000_000


class StepRun:
    """The `StepWork` of a Flow.

    Args:
        sessions: Where sessions are.
        host: Runs their Steps.
    """

    def __init__(self, sessions: HostedSessions, host: StepHost) -> None:
        self._sessions = sessions
        self._host = host

    async def open_interrupt(self, context: dex.AsyncContext, due: Due) -> bool:
        """See `StepWork`."""
        if due.void:
            return False
        with self._host.counted():
            state = await self._sessions.load(context.flow_id)
            if not _is_due(state, due):
                return False
            if state.status is SessionStatus.WAITING:
                # Opened by an earlier attempt, whose answer Dex did not get.
                return True
            if state.decision is not None:
                return False
            after = await self._host.run(state)
            return after is not None and after.status is SessionStatus.WAITING and _is_due(after, due)

    async def run(self, context: dex.AsyncContext, due: Due, *, recovering: bool) -> None:
        """See `StepWork`."""
        if due.void:
            return
        if not recovering and due.step != context.step_execution_id:
            logger.error("Dex calls %s of %s %s.", due.step, context.flow_id, context.step_execution_id)
        with self._host.counted():
            async with _beating(context):
                state = await self._claimed(context, due, recovering=recovering)
                if state is None:
                    return
                if recovering:
                    logger.warning(
                        "%s of %s is taken over by %s.", due.step, context.flow_id, context.step_execution_id
                    )
                work = asyncio.create_task(self._counted(state))
                work.add_done_callback(_tell_error)
                if state.due is not None and state.due.type in _TOOL_STEPS:
                    # The SDK cancels a Step whose stream breaks, but a request that left may still end and be recorded.
                    await asyncio.shield(work)
                else:
                    await work

    async def _counted(self, state: SessionState) -> None:
        with self._host.counted():
            await self._host.run(state)

    async def _claimed(self, context: dex.AsyncContext, due: Due, *, recovering: bool) -> SessionState | None:
        """The state this run starts from; `None` when the Step is over or a later run has it.

        A Step that reaches outside is taken with a commit, after which whatever an earlier run does is refused. So is
        one that comes a second time, be it as its first attempt again: the Worker that had it may be gone, and to end
        it here would leave the session in its Step for ever. Only the first attempt of a Step that does nothing but
        commit takes it as it finds it.
        """
        rank = context.attempt + (_RECOVERY_RANK if recovering else 0)
        state = await self._sessions.load(context.flow_id)
        due_step = state.due
        if due_step is None or not _runs(state, due) or _holder(state, due) > rank:
            return None
        if rank == 1 and due_step.type not in _REACHING_OUTSIDE:
            return state

        def claim(newest: SessionState) -> Transition | Refusal:
            if not _runs(newest, due) or _holder(newest, due) > rank:
                return Refusal("the Step is over, or a later run's")
            assert newest.leg is not None
            # What was counted when the Step became due is this run, unless another one has had it.
            counted = newest if _holder(newest, due) else newest.model_copy(update={"runs": 0})
            return Transition(counted.with_claim(newest.leg, f"{due.step}:{rank}"))

        result = await self._sessions.commit(context.flow_id, claim)
        return result.state if isinstance(result, Transition) else None


def _tell_error(work: asyncio.Task[Any]) -> None:
    error = None if work.cancelled() else work.exception()
    if error is not None:
        logger.warning("A Step ended with %s; Dex runs it again.", type(error).__name__)


@asynccontextmanager
async def _beating(context: dex.AsyncContext) -> AsyncGenerator[None]:
    """Tells Dex now and then that the Step is alive."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            await context.heartbeat()

    beats = asyncio.create_task(beat())
    try:
        yield
    finally:
        beats.cancel()
        await asyncio.gather(beats, return_exceptions=True)


def _is_due(state: SessionState, due: Due) -> bool:
    return state.due is not None and state.due.id == due.step


def _runs(state: SessionState, due: Due) -> bool:
    return _is_due(state, due) and state.status is SessionStatus.RUNNING and state.leg is not None


def _holder(state: SessionState, due: Due) -> int:
    """Rank of the run that holds the Step; 0 when none has claimed it."""
    claimed = None if state.leg is None else state.leg.claimed_by
    step, _, rank = (claimed or "").rpartition(":")
    return int(rank) if step == due.step else 0
