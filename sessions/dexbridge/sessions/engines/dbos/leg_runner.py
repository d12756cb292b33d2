"""Runs the Steps of legs in this Worker: claimed, fenced, tracked, and ended when the Worker closes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from sqlalchemy import Engine
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential

from dexbridge.sessions.engines.dbos.attempts import SqlAttemptLedger
from dexbridge.sessions.engines.dbos.commits import Commits
from dexbridge.sessions.engines.dbos.database import patiently
from dexbridge.sessions.engines.dbos.store import Committed
from dexbridge.sessions.errors import DatabaseUnavailable, StepFenced, UnreadableSession
from dexbridge.sessions.event import NewEvent
from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.persisted import now
from dexbridge.sessions.state import SessionState, SessionStatus
from dexbridge.sessions.step import StepType
from dexbridge.sessions.steps import StepContext, broken_step, run_step
from dexbridge.sessions.steps.late_truth import late_truth
from dexbridge.sessions.transition import Change, Refusal, Transition

__all__ = ["LocalLegRunner"]

logger = logging.getLogger(__name__)

_CLOSE_GRACE_SECONDS = 35.0
_SETTLE_SECONDS = 10.0
_LATE_SETTLE_SECONDS = 30.0
_TOOL_STEPS = (StepType.CALL_TOOL, StepType.CALL_SINGLE_ATTEMPT_TOOL)

T = TypeVar("T")


class LocalLegRunner:
    """The `LegRunner` of a Worker.

    Args:
        flows: By flow type.
        database: Where attempts are recorded.
        commits: Where sessions are.
        loop: The loop the engine was opened in, where the application's own resources live.
        say: Takes text a session's model is writing.
    """

    def __init__(
        self,
        flows: Mapping[str, AgentSessionFlow],
        database: Engine,
        commits: Commits,
        loop: asyncio.AbstractEventLoop,
        say: Callable[[str, str], None],
    ) -> None:
        self._flows = flows
        self._database = database
        self._commits = commits
        self._loop = loop
        self._say = say
        self._steps: dict[asyncio.Task[Any], StepType] = {}
        self._underway: set[asyncio.Future[None]] = set()
        # Sessions as the last commit of a leg here left them; the Step that follows need not read them again.
        self._left: dict[str, SessionState] = {}
        self._closing = False

    async def claim(self, session_id: str, leg: int, workflow_id: str) -> int | None:
        """See `LegRunner`."""
        return await self._at_home(self._claim(session_id, leg, workflow_id))

    async def run_step(self, session_id: str, leg: int, epoch: int, step_execution_id: str) -> str | None:
        """See `LegRunner`."""
        async for attempt in AsyncRetrying(
            retry=retry_if_exception(_worth_another_run),
            stop=stop_after_attempt(8),
            wait=wait_exponential(multiplier=0.5),
            reraise=True,
        ):
            with attempt:
                return await self._at_home(self._run_step(session_id, leg, epoch, step_execution_id))
        raise AssertionError("the loop above returns or raises")

    async def stop(self, also: set[asyncio.Future[None]]) -> None:
        """Ends segments at once, since they leave nothing; a dispatched tool call may end and be recorded."""
        self._closing = True
        calling = [task for task, step in self._steps.items() if step in _TOOL_STEPS]
        for task in list(self._steps):
            if task not in calling:
                task.cancel()
        if calling:
            await asyncio.wait(calling, timeout=_CLOSE_GRACE_SECONDS)
        for task in list(self._steps):
            task.cancel()
        # Commits under way and DBOS's own records of them end before the database is closed.
        if ending := {*self._underway, *also}:
            await asyncio.wait(ending, timeout=_SETTLE_SECONDS)

    async def _claim(self, session_id: str, leg: int, workflow_id: str) -> int | None:
        self._stop_if_closing()

        def change(state: SessionState) -> Transition | Refusal:
            if state.flow_type not in self._flows:
                return Refusal("this process does not serve the session's flow")
            if state.leg is None or state.leg.number != leg or state.leg.claimed_by not in (None, workflow_id):
                return Refusal("the leg is another run's, or over")
            return Transition(state.with_claim(state.leg, workflow_id))

        result = await self._commits.commit(session_id, change)
        if not isinstance(result, Committed):
            return None
        claimed = result.transition.state
        assert claimed.leg is not None
        self._left[session_id] = claimed
        return claimed.leg.epoch

    async def _run_step(self, session_id: str, leg: int, epoch: int, step_execution_id: str) -> str | None:
        self._stop_if_closing()
        # What others change meanwhile is seen where it matters: under the lock of the ledger and of the commit.
        state = self._left.pop(session_id, None)
        if state is None or not _is_ours(state, leg, epoch):
            state = await self._commits.load(session_id)
        if not _is_ours(state, leg, epoch) or state.due is None:
            return None
        if state.due.id != step_execution_id:
            # Committed by an earlier run of it, which was lost right afterwards, or a recovered leg goes on from here.
            return state.due.id

        def fenced(change: Change) -> Change:
            def checked(newest: SessionState) -> Transition | Refusal:
                if not _is_ours(newest, leg, epoch) or newest.due != state.due:
                    raise StepFenced(f"{step_execution_id} of {session_id!r} was taken over; its result is dropped.")
                return change(newest)

            return checked

        context = self._context(state, leg, epoch, fenced)
        try:
            try:
                change = await self._tracked(context.step.type, run_step(context))
                # A database that is away for a moment must not cost another run of the Step.
                result = await patiently(lambda: self._commits.commit(session_id, fenced(change)))
            except (StepFenced, DatabaseUnavailable):
                # Taken over, or to be run again.
                raise
            except Exception as error:  # noqa: BLE001 - anything else would leave the session stuck in its leg
                result = await self._commits.commit(session_id, fenced(await broken_step(context, error)))
        except StepFenced as taken:
            logger.warning("%s", taken)
            await self._settle_late(context)
            return None
        except asyncio.CancelledError:
            if self._closing:
                await self._uncount(session_id, fenced)
            raise
        assert isinstance(result, Committed)
        after = result.transition.state
        if after.due is None or not _is_ours(after, leg, epoch):
            return None
        self._left[session_id] = after
        return after.due.id

    def _context(self, state: SessionState, leg: int, epoch: int, fenced: Callable[[Change], Change]) -> StepContext:
        session_id = state.session_id
        assert state.due is not None

        async def record(event: NewEvent) -> None:
            alone = fenced(lambda newest: Transition(newest, events=(event,)))
            await patiently(lambda: self._commits.commit(session_id, alone))

        return StepContext(
            flow=self._flows[state.flow_type],
            state=state,
            step=state.due,
            ledger=SqlAttemptLedger(
                self._database,
                session_id,
                str(uuid.uuid4()),
                lambda newest: _is_ours(newest, leg, epoch) and newest.due == state.due,
            ),
            load_transcript=lambda: patiently(lambda: self._commits.transcript(session_id)),
            load_calls=lambda: patiently(lambda: self._commits.calls(session_id)),
            say=lambda text: self._say(session_id, text),
            record=record,
            cancelled=lambda: self._cancelled(session_id, leg, epoch),
            started_at=now(),
        )

    async def _uncount(self, session_id: str, fenced: Callable[[Change], Change]) -> None:
        """A run that was stopped by the close of its Worker did not end it; see `SessionLimits.segment_runs`."""
        uncounted = fenced(lambda newest: Transition(newest.model_copy(update={"runs": newest.runs - 1})))
        try:
            await self._commits.commit(session_id, uncounted)
        except Exception as error:  # noqa: BLE001 - the close goes on; one run too many is counted
            logger.debug("The stopped run of %s stays counted: %s.", session_id, type(error).__name__)

    async def _cancelled(self, session_id: str, leg: int, epoch: int) -> None:
        """See `StepContext`. What another process commits is seen at the next look."""
        with self._commits.news.following(session_id) as changed:
            while True:
                await changed.wait()
                changed.clear()
                try:
                    newest = await self._commits.load(session_id)
                except DatabaseUnavailable:
                    changed.set()
                    await asyncio.sleep(1)
                    continue
                if not _is_ours(newest, leg, epoch):
                    raise StepFenced(f"Leg {leg} of {session_id!r} was taken over; its Step is stopped.")
                if newest.cancelling:
                    return

    async def _settle_late(self, context: StepContext) -> None:
        """The run that took over had to leave the outcome unknown; what this run knows settles the record."""
        settle = await late_truth(context)
        if settle is None:
            return
        session_id, step = context.state.session_id, context.step.id
        with self._commits.news.following(session_id) as changed, contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LATE_SETTLE_SECONDS):
                while isinstance(await self._commits.settle(session_id, step, settle), Refusal):
                    newest = await self._commits.load(session_id)
                    if newest.due is None or newest.due.id != step:
                        return
                    # The other run has not recorded its conclusion yet.
                    changed.clear()
                    await changed.wait()

    def _stop_if_closing(self) -> None:
        if self._closing:
            # DBOS leaves a cancelled workflow pending, so the next start goes on from here.
            raise asyncio.CancelledError

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
            self._steps.pop(task, None)

    async def _at_home(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs work in the engine's loop. Workflows run in others: in `LegLoop`, or in DBOS's own."""
        counted = self._counted(work)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(counted, self._loop))

    async def _counted(self, work: Coroutine[Any, Any, T]) -> T:
        done = self._loop.create_future()
        self._underway.add(done)
        try:
            return await work
        finally:
            self._underway.discard(done)
            with contextlib.suppress(asyncio.InvalidStateError):
                done.set_result(None)


def _worth_another_run(error: BaseException) -> bool:
    return isinstance(error, Exception) and not isinstance(error, UnreadableSession)


def _is_ours(state: SessionState, leg: int, epoch: int) -> bool:
    return (
        state.status is SessionStatus.RUNNING
        and state.leg is not None
        and state.leg.number == leg
        and state.leg.epoch == epoch
    )
