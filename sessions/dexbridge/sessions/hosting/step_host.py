"""Runs one Step after another for an engine: with its context, fenced, tracked, and ended when the process closes.

Source: architecture decision 10: what runs a Step exists once, whichever engine schedules it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from typing import Any, TypeVar

from dexbridge.sessions.errors import StepFenced, UnknownSession, UnreadableSession
from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.hosting.attempts import AttemptsHere, LedgerHere
from dexbridge.sessions.hosting.port import HostedSessions
from dexbridge.sessions.state.event import NewEvent
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState, SessionStatus
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Change, Refusal, Transition
from dexbridge.sessions.steps import StepContext, broken_step, run_step
from dexbridge.sessions.steps.late_truth import late_truth

__all__ = ["StepHost", "same_run"]

logger = logging.getLogger(__name__)

_CLOSE_GRACE_SECONDS = 35.0
_SETTLE_SECONDS = 10.0
_LATE_SETTLE_SECONDS = 60.0
_UNCOUNT_SECONDS = 2.0
_TOOL_STEPS = (StepType.CALL_TOOL, StepType.CALL_SINGLE_ATTEMPT_TOOL)

T = TypeVar("T")


class StepHost:
    """The Steps of the flows of one process. Made in the loop the application's resources live in, and used there.

    Args:
        flows: By flow type.
        sessions: Where sessions are.
        say: Takes text a session's model is writing: session ID and piece.
    """

    def __init__(
        self,
        flows: Mapping[str, AgentSessionFlow],
        sessions: HostedSessions,
        say: Callable[[str, str], None],
    ) -> None:
        self._flows = flows
        self._sessions = sessions
        self._say = say
        self._attempts = AttemptsHere()
        self._steps: dict[asyncio.Task[Any], StepType] = {}
        self._underway: set[asyncio.Future[None]] = set()
        self._closing = False

    async def run(self, state: SessionState) -> SessionState | None:
        """Runs the Step that is due in a state which this run has claimed, and commits what it changes.

        Returns:
            The state the commit left; `None` when another run has taken over, or the session is gone.
        """
        context = self._context(state)
        try:
            result = await self._committed(context)
        except StepFenced as taken:
            logger.warning("%s", taken)
            await self._settle_late(context)
            return None
        except UnknownSession:
            logger.warning("%s of %s ended when the session was gone.", context.step.id, state.session_id)
            return None
        except asyncio.CancelledError:
            if self._closing:
                await self._uncount(context)
            raise
        assert isinstance(result, Transition), "a Step's change refuses nothing"
        return result.state

    @contextlib.contextmanager
    def counted(self) -> Generator[None]:
        """Counts what an engine does around a Step, so that a close waits for it; a host that closes begins nothing.

        Raises:
            asyncio.CancelledError: The host closes. Engines leave the work pending then, for the next process.
        """
        if self._closing:
            raise asyncio.CancelledError
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._underway.add(done)
        try:
            yield
        finally:
            self._underway.discard(done)
            if not done.done():
                done.set_result(None)

    async def stop(self, also: Collection[asyncio.Future[None]] = ()) -> None:
        """Ends segments at once, since they leave nothing; a dispatched tool call may end and be recorded.

        Args:
            also: The engine's own work that must end before its database is closed.
        """
        self._closing = True
        calling = [task for task, step in self._steps.items() if step in _TOOL_STEPS]
        for task in list(self._steps):
            if task not in calling:
                task.cancel()
        if calling:
            await asyncio.wait(calling, timeout=_CLOSE_GRACE_SECONDS)
        for task in list(self._steps):
            task.cancel()
        self._attempts.cancel()
        if ending := {*self._underway, *also}:
            await asyncio.wait(ending, timeout=_SETTLE_SECONDS)

    async def _committed(self, context: StepContext) -> Transition | Refusal:
        session_id = context.state.session_id
        try:
            change = await self._tracked(context.step.type, run_step(context))
            return await self._sessions.commit(session_id, _fenced(context.state, change))
        except (StepFenced, UnknownSession, UnreadableSession):
            raise
        except Exception as error:  # noqa: BLE001 - anything else would leave the session stuck in its leg
            change = await broken_step(context, error)
            return await self._sessions.commit(session_id, _fenced(context.state, change))

    def _context(self, state: SessionState) -> StepContext:
        session_id, sessions = state.session_id, self._sessions
        assert state.due is not None, "a Step is due in the state a run starts from"

        async def record(event: NewEvent) -> None:
            await sessions.commit(session_id, _fenced(state, lambda newest: Transition(newest, events=(event,))))

        rows = sessions.ledger(session_id, str(uuid.uuid4()), lambda newest: same_run(state, newest))
        return StepContext(
            flow=self._flows[state.flow_type],
            state=state,
            step=state.due,
            ledger=LedgerHere(rows, self._attempts, session_id),
            load_transcript=lambda: sessions.transcript(session_id),
            load_calls=lambda: sessions.calls(session_id),
            say=lambda text: self._say(session_id, text),
            record=record,
            cancelled=lambda: self._cancelled(state),
            started_at=now(),
        )

    async def _cancelled(self, state: SessionState) -> None:
        """See `StepContext`."""
        with self._sessions.following(state.session_id) as changed:
            while True:
                changed.clear()
                newest = await self._sessions.load(state.session_id)
                if not same_run(state, newest):
                    assert state.due is not None
                    raise StepFenced(f"{state.due.id} of {state.session_id!r} was taken over; it is stopped.")
                if newest.cancelling:
                    return
                await self._sessions.news(changed)

    async def _settle_late(self, context: StepContext) -> None:
        """The run that took over had to leave the outcome unknown; what this run knows settles the record."""
        settle = await late_truth(context)
        if settle is None:
            return
        session_id, step = context.state.session_id, context.step.id
        with self._sessions.following(session_id) as changed, contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LATE_SETTLE_SECONDS):
                while isinstance(await self._sessions.settle(session_id, step, settle), Refusal):
                    changed.clear()
                    newest = await self._sessions.load(session_id)
                    if newest.due is None or newest.due.id != step:
                        return
                    # The other run has not recorded its conclusion yet.
                    await self._sessions.news(changed)

    async def _uncount(self, context: StepContext) -> None:
        """A run that was stopped by the close of its process did not end it; see `SessionLimits.segment_runs`."""
        uncounted = _fenced(
            context.state, lambda newest: Transition(newest.model_copy(update={"runs": newest.runs - 1}))
        )
        try:
            async with asyncio.timeout(_UNCOUNT_SECONDS):
                await self._sessions.commit(context.state.session_id, uncounted)
        except Exception as error:  # noqa: BLE001 - the close goes on; one run too many is counted
            logger.debug("The stopped run of %s stays counted: %s.", context.state.session_id, type(error).__name__)

    async def _tracked(self, step: StepType, work: Awaitable[T]) -> T:
        task = asyncio.ensure_future(work)
        self._steps[task] = step
        try:
            return await task
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if self._closing or (this is not None and this.cancelling()):
                raise
            raise RuntimeError(f"{step.value} was cancelled from inside") from None
        finally:
            task.cancel()
            self._steps.pop(task, None)


def same_run(started: SessionState, newest: SessionState) -> bool:
    """Whether nobody has taken over since a run started from that state: same leg, same claim, same Step."""
    return (
        newest.due == started.due
        and newest.status is SessionStatus.RUNNING
        and newest.leg is not None
        and started.leg is not None
        and (newest.leg.number, newest.leg.epoch) == (started.leg.number, started.leg.epoch)
    )


def _fenced(started: SessionState, change: Change) -> Change:
    """The change, unless another run has taken over: a process that was frozen meanwhile commits nothing."""
    assert started.due is not None
    step = started.due.id

    def checked(newest: SessionState) -> Transition | Refusal:
        if not same_run(started, newest):
            raise StepFenced(f"{step} of {started.session_id!r} was taken over; its result is dropped.")
        return change(newest)

    return checked
