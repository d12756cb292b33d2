"""One execution of a Step on a Dex Worker: the same Step function as on every engine, and its commit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import dex

from dexbridge.sessions.engines.dex.ledger import DexAttemptLedger
from dexbridge.sessions.engines.dex.link import SessionLink
from dexbridge.sessions.engines.dex.news import News, wait_for
from dexbridge.sessions.engines.dex.step_options import HEARTBEAT_SECONDS
from dexbridge.sessions.engines.dex.stored import Due
from dexbridge.sessions.errors import DatabaseUnavailable, StepFenced, UnknownSession
from dexbridge.sessions.event import NewEvent
from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.persisted import now
from dexbridge.sessions.state import SessionState, SessionStatus
from dexbridge.sessions.step import StepType
from dexbridge.sessions.steps import StepContext, broken_step, run_step
from dexbridge.sessions.steps.late_truth import late_truth
from dexbridge.sessions.transition import Change, Refusal, Transition

__all__ = ["StepRun"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_TOOL_STEPS = (StepType.CALL_TOOL, StepType.CALL_SINGLE_ATTEMPT_TOOL)
_REACHING_OUTSIDE = (StepType.RUN_MODEL, *_TOOL_STEPS)
_CLOSE_GRACE_SECONDS = 35.0
_LATE_SETTLE_SECONDS = 60.0
# A run of Recover takes over from every attempt of the Step itself.
_RECOVERY_RANK = 10_000_000


class StepRun:
    """The `StepWork` of a Flow.

    Args:
        flow: The session's flow.
        link: The way to the sessions, made when first needed.
        news: Tells of this process's commits.
        say: Takes text a session's model is writing.
    """

    def __init__(
        self,
        flow: AgentSessionFlow,
        link: Callable[[], SessionLink],
        news: News,
        say: Callable[[str, str], None],
    ) -> None:
        self._flow = flow
        self._link = link
        self.news = news
        self._say = say
        self._running: dict[asyncio.Task[Any], StepType] = {}
        self._ending: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def stop(self) -> None:
        """Ends segments at once, since they leave nothing; a dispatched tool call may end and be recorded."""
        self._closing = True
        calling = [task for task, step in self._running.items() if step in _TOOL_STEPS]
        for task in list(self._running):
            if task not in calling:
                task.cancel()
        if calling:
            await asyncio.wait(calling, timeout=_CLOSE_GRACE_SECONDS)
        for task in list(self._running):
            task.cancel()
        if self._ending:
            await asyncio.wait(self._ending, timeout=_CLOSE_GRACE_SECONDS)

    async def open_interrupt(self, context: dex.AsyncContext, due: Due) -> bool:
        """See `StepWork`."""
        if due.void:
            return False
        with self._counted():
            link = self._link()
            state = (await link.load(context.flow_id)).state
            if not _is_due(state, due):
                return False
            if state.status is SessionStatus.WAITING:
                # Opened by an earlier attempt, whose answer Dex did not get.
                return True
            if state.decision is not None:
                return False
            after = await self._step(link, state, due)
            return after is not None and after.status is SessionStatus.WAITING and _is_due(after, due)

    async def run(self, context: dex.AsyncContext, due: Due, *, recovering: bool) -> None:
        """See `StepWork`."""
        if due.void:
            return
        if not recovering and due.step != context.step_execution_id:
            logger.error("Dex calls %s of %s %s.", due.step, context.flow_id, context.step_execution_id)
        with self._counted():
            async with _beating(context):
                link = self._link()
                state = await self._claimed(link, context, due, recovering=recovering)
                if state is None:
                    return
                if recovering:
                    logger.warning(
                        "%s of %s is taken over by %s.", due.step, context.flow_id, context.step_execution_id
                    )
                work = asyncio.create_task(self._step(link, state, due))
                self._ending.add(work)
                work.add_done_callback(self._ended)
                if state.due is not None and state.due.type in _TOOL_STEPS:
                    # The SDK cancels a Step whose stream breaks, but a request that left may still end and be recorded.
                    await asyncio.shield(work)
                else:
                    await work

    def _ended(self, work: asyncio.Task[SessionState | None]) -> None:
        self._ending.discard(work)
        error = None if work.cancelled() else work.exception()
        if error is not None:
            logger.warning("A Step ended with %s; Dex runs it again.", type(error).__name__)

    async def _claimed(
        self, link: SessionLink, context: dex.AsyncContext, due: Due, *, recovering: bool
    ) -> SessionState | None:
        """The state this run starts from; `None` when the Step is over or a later run has it.

        A Step that reaches outside is taken with a commit, after which whatever an earlier run does is refused. So is
        one that comes a second time, be it as its first attempt again: the Worker that had it may be gone, and to end
        it here would leave the session in its Step for ever. Only the first attempt of a Step that does nothing but
        commit takes it as it finds it.
        """
        rank = context.attempt + (_RECOVERY_RANK if recovering else 0)
        state = (await link.load(context.flow_id)).state
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

        result = await link.change(context.flow_id, claim)
        return result.state if isinstance(result, Transition) else None

    async def _step(self, link: SessionLink, state: SessionState, due: Due) -> SessionState | None:
        """Runs the Step function and commits what it changes; `None` when it was taken over."""
        session_id = state.session_id

        def fenced(change: Change) -> Change:
            def checked(newest: SessionState) -> Transition | Refusal:
                if not _same_run(state, newest):
                    raise StepFenced(f"{due.step} of {session_id!r} was taken over; its result is dropped.")
                return change(newest)

            return checked

        context = self._context(link, state, fenced)
        try:
            try:
                change = await self._tracked(context.step.type, run_step(context))
                result = await link.change(session_id, fenced(change))
            except (StepFenced, DatabaseUnavailable, UnknownSession):
                raise
            except Exception as error:  # noqa: BLE001 - anything else would leave the session stuck in its leg
                result = await link.change(session_id, fenced(await broken_step(context, error)))
        except StepFenced as taken:
            logger.warning("%s", taken)
            await self._settle_late(link, context)
            return None
        except UnknownSession:
            logger.warning("%s of %s ended when the session was gone.", due.step, session_id)
            return None
        assert isinstance(result, Transition), "a Step's change refuses nothing"
        return result.state

    def _context(self, link: SessionLink, state: SessionState, fenced: Callable[[Change], Change]) -> StepContext:
        session_id = state.session_id
        assert state.due is not None

        async def record(event: NewEvent) -> None:
            await link.change(session_id, fenced(lambda newest: Transition(newest, events=(event,))))

        return StepContext(
            flow=self._flow,
            state=state,
            step=state.due,
            ledger=DexAttemptLedger(link, session_id, str(uuid.uuid4()), lambda newest: _same_run(state, newest)),
            load_transcript=lambda: link.transcript(session_id),
            load_calls=lambda: link.calls(session_id),
            say=lambda text: self._say(session_id, text),
            record=record,
            cancelled=lambda: self._cancelled(link, state),
            started_at=now(),
        )

    async def _cancelled(self, link: SessionLink, state: SessionState) -> None:
        """See `StepContext`. What another process commits is seen at the next look."""
        session_id = state.session_id
        with self.news.following(session_id) as changed:
            while True:
                changed.clear()
                with contextlib.suppress(DatabaseUnavailable):
                    newest = (await link.load(session_id)).state
                    if not _same_run(state, newest):
                        raise StepFenced(f"The Step of {session_id!r} was taken over; it is stopped.")
                    if newest.cancelling:
                        return
                await wait_for(changed)

    async def _settle_late(self, link: SessionLink, context: StepContext) -> None:
        """The run that took over had to leave the outcome unknown; what this run knows settles the record."""
        settle = await late_truth(context)
        if settle is None:
            return
        session_id, step = context.state.session_id, context.step.id
        with self.news.following(session_id) as changed, contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LATE_SETTLE_SECONDS):
                while isinstance(await link.settle(session_id, step, settle), Refusal):
                    newest = (await link.load(session_id)).state
                    if newest.due is None or newest.due.id != step:
                        return
                    # The other run has not recorded its conclusion yet.
                    changed.clear()
                    await wait_for(changed)

    async def _tracked(self, step: StepType, work: Awaitable[T]) -> T:
        task = asyncio.ensure_future(work)
        self._running[task] = step
        try:
            return await task
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if self._closing or (this is not None and this.cancelling()):
                raise
            raise RuntimeError(f"{step.value} was cancelled from inside") from None
        finally:
            task.cancel()
            self._running.pop(task, None)

    @contextlib.contextmanager
    def _counted(self) -> Any:
        """Counts the run, so that a close waits for its commit; a Worker that closes begins nothing."""
        if self._closing:
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None
        self._ending.add(task)
        try:
            yield
        finally:
            self._ending.discard(task)


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


def _same_run(started: SessionState, newest: SessionState) -> bool:
    """Whether nobody has taken over since this run started."""
    return (
        newest.due == started.due
        and newest.status is SessionStatus.RUNNING
        and newest.leg is not None
        and started.leg is not None
        and (newest.leg.number, newest.leg.epoch) == (started.leg.number, started.leg.epoch)
    )


def _holder(state: SessionState, due: Due) -> int:
    """Rank of the run that holds the Step; 0 when none has claimed it."""
    claimed = None if state.leg is None else state.leg.claimed_by
    step, _, rank = (claimed or "").rpartition(":")
    return int(rank) if step == due.step else 0
