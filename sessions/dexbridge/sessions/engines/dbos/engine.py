"""The DBOS engine: embedded SQLite, or Postgres."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, SetWorkflowID
from sqlalchemy import Connection
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from dexbridge.sessions.engines.dbos.abandoned import AbandonedLegs
from dexbridge.sessions.engines.dbos.attempts import SqlAttemptLedger
from dexbridge.sessions.engines.dbos.database import open_database
from dexbridge.sessions.engines.dbos.leg import LEG_WORKFLOW, direct_id, queued_id, run_leg, serve
from dexbridge.sessions.engines.dbos.leg_loop import LegLoop, quiet_cancelling
from dexbridge.sessions.engines.dbos.store import Committed, SessionStore
from dexbridge.sessions.engines.dbos.worker_lock import worker_lock
from dexbridge.sessions.errors import (
    DatabaseUnavailable,
    EngineAlreadyOpen,
    InvalidRequest,
    StepFenced,
)
from dexbridge.sessions.event import SessionEvent
from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.persisted import now
from dexbridge.sessions.snapshot import SessionSnapshot, SessionSummary
from dexbridge.sessions.state import SessionState, SessionStatus
from dexbridge.sessions.step import StepType
from dexbridge.sessions.steps import STEPS, StepContext, broken_step
from dexbridge.sessions.transition import Change, Refusal, Transition

__all__ = ["DbosEngine"]

logger = logging.getLogger(__name__)

_APPLICATION = "dexbridge"
# Pinned: by default DBOS derives a version from the code, and work left by other code would stay pending for ever.
_APPLICATION_VERSION = "dexbridge-1"
_QUEUE = "dexbridge-legs"
_QUEUE_POLLING_SECONDS = 0.5
_EVENT_POLLING_SECONDS = 0.5
# DBOS's listener looks for messages to workflows, of which there are none; a close waits for its sleep to end.
_LISTENER_SECONDS = 0.1
_CLOSE_GRACE_SECONDS = 35.0
_SETTLE_SECONDS = 10.0

T = TypeVar("T")

_open_engines: list[DbosEngine] = []


class DbosEngine:
    """Runs sessions with DBOS. Made by `open_engine`; enter it once."""

    def __init__(self, url: str, flows: Sequence[AgentSessionFlow], *, run_steps: bool) -> None:
        self._url = url
        self._flows = {flow.flow_type: flow for flow in flows}
        if len(self._flows) != len(flows):
            raise InvalidRequest("Two flows share a flow_type: give each its own.")
        self._run_steps = run_steps
        self._steps: dict[asyncio.Task[Any], StepType] = {}
        self._direct: set[asyncio.Future[None]] = set()
        self._underway: set[asyncio.Future[None]] = set()
        self._commits = 0
        self._closing = False
        self._sessions: SessionStore | None = None

    @property
    def flows(self) -> Sequence[AgentSessionFlow]:
        return tuple(self._flows.values())

    async def __aenter__(self) -> Self:
        if _open_engines:
            raise EngineAlreadyOpen(
                "This process has an engine open already: close it first, or give it all flows at once."
            )
        if self._closing:
            raise InvalidRequest("An engine is entered once: call open_engine again for another.")
        _open_engines.append(self)
        try:
            async with contextlib.AsyncExitStack() as undo:
                self._loop = asyncio.get_running_loop()
                self._committed = asyncio.Condition()
                if self._run_steps:
                    undo.enter_context(worker_lock(self._url))
                self._database = await asyncio.to_thread(open_database, self._url)
                undo.callback(self._database.dispose)
                self._sessions = SessionStore(self._database, self._enqueue)
                await asyncio.to_thread(self._store.create_tables)
                self._legs = LegLoop()
                undo.push_async_callback(asyncio.to_thread, self._legs.close)
                undo.push_async_callback(asyncio.to_thread, self._land)
                await asyncio.to_thread(self._launch)
                self._sweep = self._start_sweep() if self._run_steps else None
                self._opened = undo.pop_all()
        except BaseException:
            _open_engines.remove(self)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        try:
            async with self._opened:
                self._opened.enter_context(quiet_cancelling())
                await self._announce()
                if self._sweep is not None:
                    self._sweep.cancel()
                await self._stop_steps()
                for flow in self._flows.values():
                    await flow.runner.close()
        finally:
            self._sessions = None
            _open_engines.remove(self)

    @property
    def _store(self) -> SessionStore:
        if self._sessions is None:
            raise InvalidRequest("The engine is not open: use it inside `async with open_engine(…)`.")
        return self._sessions

    async def start(self, first: Transition) -> bool:
        return await asyncio.to_thread(self._store.start, first)

    async def change(self, session_id: str, change: Change) -> Transition | Refusal:
        result = await self._commit(session_id, change)
        if isinstance(result, Refusal):
            return result
        state = result.transition.state
        if result.opened_leg and self._run_steps and state.flow_type in self._flows and not self._closing:
            direct = asyncio.wrap_future(self._legs.start(self._run_directly(state)))
            self._direct.add(direct)
            direct.add_done_callback(self._direct.discard)
        return result.transition

    async def snapshot(self, session_id: str) -> SessionSnapshot:
        return await asyncio.to_thread(self._store.snapshot, session_id)

    async def list_sessions(self, *, limit: int, after: str | None) -> Sequence[SessionSummary]:
        return await asyncio.to_thread(self._store.list_sessions, limit, after)

    async def events(self, session_id: str, *, after: int, follow: bool) -> AsyncIterator[SessionEvent]:
        while not self._closing:
            seen = self._commits
            found = await asyncio.to_thread(self._store.events, session_id, after)
            for event in found:
                after = event.sequence
                yield event
            if found:
                continue
            if not follow:
                return
            # Woken by commits of this process; other processes' are seen at the next look.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EVENT_POLLING_SECONDS), self._committed:
                    await self._committed.wait_for(lambda seen=seen: self._commits != seen or self._closing)

    async def claim(self, session_id: str, leg: int, workflow_id: str) -> int | None:
        """See `LegRunner`."""
        return await self._at_home(self._claim(session_id, leg, workflow_id))

    async def run_step(self, session_id: str, leg: int, epoch: int, step_execution_id: str) -> str | None:
        """See `LegRunner`."""
        return await self._at_home(self._run_step(session_id, leg, epoch, step_execution_id))

    async def _run_directly(self, state: SessionState) -> None:
        """Starts the leg's workflow here and follows it to its end; the queue has it too, should this not work out."""
        assert state.leg is not None
        assert state.due is not None
        try:
            with SetWorkflowID(direct_id(state.session_id, state.leg.number)):
                handle = await DBOS.start_workflow_async(run_leg, state.session_id, state.leg.number, state.due.id)
            await handle.get_result()
        except asyncio.CancelledError:
            # The workflow was stopped by the close; this task's own cancellation ends it here just as well.
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the queue or the next sweep runs what is left
            logger.warning("Leg %s of %s stopped: %s.", state.leg.number, state.session_id, type(error).__name__)

    def _start_sweep(self) -> asyncio.Task[None]:
        abandoned = AbandonedLegs(self._store, self._dbos, list(self._flows), self.change)
        return asyncio.create_task(abandoned.reopen_for_ever())

    async def _claim(self, session_id: str, leg: int, workflow_id: str) -> int | None:
        self._stop_if_closing()

        def change(state: SessionState) -> Transition | Refusal:
            if state.flow_type not in self._flows:
                return Refusal("this process does not serve the session's flow")
            if state.leg is None or state.leg.number != leg or state.leg.claimed_by not in (None, workflow_id):
                return Refusal("the leg is another run's, or over")
            claimed = state.leg.model_copy(update={"claimed_by": workflow_id, "epoch": state.leg.epoch + 1})
            return Transition(state.model_copy(update={"leg": claimed}))

        result = await self._commit(session_id, change)
        if isinstance(result, Refusal):
            return None
        assert result.transition.state.leg is not None
        return result.transition.state.leg.epoch

    async def _run_step(self, session_id: str, leg: int, epoch: int, step_execution_id: str) -> str | None:
        self._stop_if_closing()
        state = await asyncio.to_thread(self._store.load, session_id)
        if not _is_ours(state, leg, epoch) or state.due is None:
            return None
        if state.due.id != step_execution_id:
            # Committed by an earlier run of this DBOS step, which was lost before DBOS had its record.
            return state.due.id
        flow = self._flows[state.flow_type]
        context = StepContext(
            flow=flow,
            state=state,
            step=state.due,
            ledger=SqlAttemptLedger(
                self._database,
                session_id,
                str(uuid.uuid4()),
                lambda newest: _is_ours(newest, leg, epoch) and newest.due == state.due,
            ),
            load_transcript=lambda: asyncio.to_thread(self._store.transcript, session_id),
            say=lambda _text: None,
            started_at=now(),
        )

        def fenced(change: Change) -> Change:
            def checked(newest: SessionState) -> Transition | Refusal:
                if not _is_ours(newest, leg, epoch) or newest.due != state.due:
                    raise StepFenced(f"{step_execution_id} of {session_id!r} was taken over; its result is dropped.")
                return change(newest)

            return checked

        try:
            try:
                change = await self._tracked(state.due.type, STEPS[state.due.type](context))
                result = await self._commit_patiently(session_id, fenced(change))
            except (StepFenced, DatabaseUnavailable):
                # Taken over, or to be run again by DBOS.
                raise
            except Exception as error:  # noqa: BLE001 - anything else would leave the session stuck in its leg
                result = await self._commit(session_id, fenced(await broken_step(context, error)))
        except StepFenced as taken:
            logger.warning("%s", taken)
            return None
        assert isinstance(result, Committed)
        after = result.transition.state
        return after.due.id if after.due is not None and _is_ours(after, leg, epoch) else None

    def _stop_if_closing(self) -> None:
        if self._closing:
            # DBOS leaves a cancelled workflow pending, so the next start goes on from here.
            raise asyncio.CancelledError

    async def _commit(self, session_id: str, change: Change) -> Committed | Refusal:
        result = await asyncio.to_thread(self._store.commit, session_id, change)
        await self._announce()
        return result

    async def _commit_patiently(self, session_id: str, change: Change) -> Committed | Refusal:
        """Commits a Step's change; a database that is away for a moment must not cost another run of the Step."""
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(DatabaseUnavailable),
            stop=stop_after_attempt(5),
            wait=wait_exponential(multiplier=0.5, max=5),
            reraise=True,
        ):
            with attempt:
                return await self._commit(session_id, change)
        raise AssertionError("the loop above returns or raises")

    async def _announce(self) -> None:
        self._commits += 1
        async with self._committed:
            self._committed.notify_all()

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
        """Runs work in the loop the engine was opened in, where the application's own resources live.

        Workflows run in other loops: in `LegLoop`, or in DBOS's own when it took them from a queue.
        """
        counted = self._counted(work)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(counted, self._loop))

    async def _counted(self, work: Coroutine[Any, Any, T]) -> T:
        done = self._loop.create_future()
        self._underway.add(done)
        try:
            return await work
        finally:
            self._underway.discard(done)
            done.set_result(None)

    async def _stop_steps(self) -> None:
        """Ends segments at once, since they leave nothing; a dispatched tool call may end and be recorded."""
        calling = [
            task
            for task, step in self._steps.items()
            if step in (StepType.CALL_TOOL, StepType.CALL_SINGLE_ATTEMPT_TOOL)
        ]
        for task in list(self._steps):
            if task not in calling:
                task.cancel()
        if calling:
            await asyncio.wait(calling, timeout=_CLOSE_GRACE_SECONDS)
        for task in list(self._steps):
            task.cancel()
        # Commits under way and DBOS's own records of them end before the database is closed.
        if ending := {*self._underway, *self._direct}:
            await asyncio.wait(ending, timeout=_SETTLE_SECONDS)

    def _launch(self) -> None:
        serializer = DBOSPortableJSONSerializer()
        self._dbos = DBOSClient(
            system_database_url=self._url, serializer=serializer, application_name=_APPLICATION, lazy=True
        )
        if self._run_steps:
            serve(self)
            config: DBOSConfig = {
                "name": _APPLICATION,
                "system_database_url": self._url,
                "application_version": _APPLICATION_VERSION,
                "executor_id": "worker",
                "serializer": serializer,
                "log_level": "WARNING",
                "notification_listener_polling_interval_sec": _LISTENER_SECONDS,
            }
            DBOS(config=config)
            DBOS.launch()
            DBOS.register_queue(_QUEUE, polling_interval_sec=_QUEUE_POLLING_SECONDS)
        else:
            # A client may come before the first Worker, and what it enqueues needs DBOS's tables.
            DBOS.migrate(self._url)

    def _enqueue(self, connection: Connection, state: SessionState) -> None:
        assert state.leg is not None
        assert state.due is not None
        self._dbos.enqueue_in_transaction(
            connection,
            {
                "workflow_name": LEG_WORKFLOW,
                "queue_name": _QUEUE,
                "workflow_id": queued_id(state.session_id, state.leg.number),
                "app_version": _APPLICATION_VERSION,
            },
            state.session_id,
            state.leg.number,
            state.due.id,
        )

    def _land(self) -> None:
        if self._run_steps:
            DBOS.destroy()
            serve(None)
        self._dbos.destroy()


def _is_ours(state: SessionState, leg: int, epoch: int) -> bool:
    return (
        state.status is SessionStatus.RUNNING
        and state.leg is not None
        and state.leg.number == leg
        and state.leg.epoch == epoch
    )
