"""The DBOS engine: embedded SQLite, or Postgres."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, SetWorkflowID
from sqlalchemy import Connection

from dexbridge.sessions.engines.dbos.databases.database import (
    answering,
    check_url,
    open_database,
    open_for_dbos,
    outage_of,
    sqlite_path,
    url_for_dbos,
)
from dexbridge.sessions.engines.dbos.legs.loop import LegLoop, in_own_thread, quiet_close
from dexbridge.sessions.engines.dbos.legs.runner import LocalLegRunner
from dexbridge.sessions.engines.dbos.legs.workflow import LEG_WORKFLOW, direct_id, queued_id, queued_leg, run_leg, serve
from dexbridge.sessions.engines.dbos.tables.commits import Commits, HostedStore
from dexbridge.sessions.engines.dbos.tables.marks import StoredMarks
from dexbridge.sessions.engines.dbos.tables.store import EVENTS_AT_ONCE, SessionStore
from dexbridge.sessions.engines.dbos.waking.hearing import hearing_of
from dexbridge.sessions.engines.dbos.waking.notices import LEG_OPENED, SESSION_CHANGED, Notices, OpenLeg
from dexbridge.sessions.engines.dbos.workers.file_lock import check_file_is_not_gone, worker_lock
from dexbridge.sessions.engines.dbos.workers.rounds import Rounds
from dexbridge.sessions.errors import DatabaseUnavailable, EngineAlreadyOpen, InvalidRequest
from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.hosting.step_host import StepHost
from dexbridge.sessions.hosting.text_pieces import TextPieces
from dexbridge.sessions.state.event import SessionEvent
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.snapshot import SessionSnapshot, SessionSummary
from dexbridge.sessions.state.transition import Change, MessageKey, Refusal, Repeated, Settle, Transition

__all__ = ["DbosEngine"]

logger = logging.getLogger(__name__)

_APPLICATION = "dexbridge"
_QUEUE = "dexbridge-legs:"
# Pinned: by default DBOS derives a version from the code, and work left by other code would stay pending for ever.
_APPLICATION_VERSION = "dexbridge-1"
# Legs are taken from the queue by `PickUp`; DBOS comes by for those a Worker was lost with before it had begun them.
_QUEUE_POLLING_SECONDS = 5.0
# For messages to workflows and from them, of which there are none, DBOS has two threads that wake so often; a close
# waits for that.
_MESSAGES_SECONDS = 0.1
# And one that looks for schedules, of which there are none either.
_SCHEDULES_SECONDS = 3600.0
_DELETE_AT_ONCE = 500

_open_engines: list[DbosEngine] = []


class DbosEngine:
    """Runs sessions with DBOS. Made by `open_engine`; enter it once."""

    def __init__(self, url: str, flows: Sequence[AgentSessionFlow], *, run_steps: bool) -> None:
        check_url(url)
        self._url = url
        self._flows = {flow.flow_type: flow for flow in flows}
        if len(self._flows) != len(flows):
            raise InvalidRequest("Two flows share a flow_type: give each its own.")
        self._run_steps = run_steps
        # One Worker holds a SQLite file, so DBOS itself recovers there what the last one left.
        self._worker_id = "worker" if sqlite_path(url) is not None else f"worker-{uuid.uuid4()}"
        self._pieces = TextPieces()
        self._notices = Notices()
        self._rounds: Rounds | None = None
        self._closing = False
        self._sessions: SessionStore | None = None

    @property
    def flows(self) -> Sequence[AgentSessionFlow]:
        return tuple(self._flows.values())

    @property
    def marks(self) -> StoredMarks:
        assert self._store
        return StoredMarks(self._database)

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
                if self._run_steps:
                    undo.enter_context(worker_lock(self._url))
                else:
                    check_file_is_not_gone(self._url)
                self._database = await asyncio.to_thread(open_database, self._url)
                undo.callback(self._database.dispose)
                undo.enter_context(outage_of(self._database).keeping_dbos_quiet())
                self._for_dbos = open_for_dbos(self._url, self._database)
                undo.callback(self._for_dbos.dispose)
                store = SessionStore(self._database, self._enqueue, self._notices.changed)
                await asyncio.to_thread(store.create_tables)
                self._sessions = store
                self._hearing = hearing_of(self._database, self._heard, self._missed)
                undo.push_async_callback(self._hearing.close)
                self._commits = Commits(store, self._hearing)
                hosted = HostedStore(self._commits)
                self._host = StepHost(self._flows, hosted, self._pieces.say)
                self._runner = LocalLegRunner(self._flows, hosted, self._host, asyncio.get_running_loop())
                self._legs = LegLoop()
                undo.push_async_callback(in_own_thread, self._legs.close)
                undo.push_async_callback(in_own_thread, self._land)
                with answering(self._database):
                    await asyncio.to_thread(self._launch)
                if self._run_steps:
                    await self._begin_rounds(store)
                outage_of(self._database).watch()
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
                self._opened.enter_context(quiet_close())
                await self._commits.news.close()
                self._pieces.close()
                if self._rounds is not None:
                    await self._rounds.stop()
                await self._host.stop()
                await in_own_thread(self._legs.finish)
                for flow in self._flows.values():
                    await flow.runner.close()
                if self._rounds is not None:
                    # A database that is away is told by silence.
                    with contextlib.suppress(DatabaseUnavailable):
                        await asyncio.to_thread(self._rounds.leave)
        finally:
            self._sessions = None
            _open_engines.remove(self)

    @property
    def _store(self) -> SessionStore:
        if self._sessions is None:
            raise InvalidRequest("The engine is not open: use it inside `async with open_engine(…)`.")
        return self._sessions

    async def start(self, first: Transition) -> bool:
        assert self._store
        return await self._commits.start(first)

    async def change(
        self, session_id: str, change: Change, *, once: MessageKey | None = None
    ) -> Transition | Refusal | Repeated:
        assert self._store
        result = await self._commits.commit(session_id, change, once)
        if isinstance(result, Refusal | Repeated):
            return result
        state = result.transition.state
        if result.opened_leg and self._runs(state.flow_type):
            self._run_here(state)
        return result.transition

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Transition | Refusal:
        assert self._store
        result = await self._commits.settle(session_id, step_execution_id, settle)
        return result if isinstance(result, Refusal) else result.transition

    async def prune(self, older_than: datetime) -> Sequence[str]:
        pruned = await asyncio.to_thread(self._store.prune, older_than)
        workflows = [
            identity(session_id, leg)
            for session_id, legs in pruned
            for leg in range(1, legs + 1)
            for identity in (direct_id, queued_id)
        ]
        with answering(self._database):
            for first in range(0, len(workflows), _DELETE_AT_ONCE):
                await asyncio.to_thread(self._dbos.delete_workflows, workflows[first : first + _DELETE_AT_ONCE])
        await asyncio.to_thread(self._store.forgotten, [session_id for session_id, _ in pruned])
        return [session_id for session_id, _ in pruned]

    async def snapshot(self, session_id: str) -> SessionSnapshot:
        return await asyncio.to_thread(self._store.snapshot, session_id)

    async def list_sessions(
        self, *, limit: int, after: str | None, changed_since: datetime | None
    ) -> Sequence[SessionSummary]:
        return await asyncio.to_thread(self._store.list_sessions, limit, after, changed_since)

    async def events(self, session_id: str, *, after: int, follow: bool) -> AsyncIterator[SessionEvent]:
        assert self._store
        with self._commits.news.following(session_id) if follow else contextlib.nullcontext() as changed:
            while not self._closing:
                if changed is not None:
                    changed.clear()
                found = await asyncio.to_thread(self._store.events, session_id, after)
                for event in found:
                    after = event.sequence
                    yield event
                if len(found) == EVENTS_AT_ONCE:
                    continue
                if changed is None:
                    return
                if not self._closing:
                    await changed.wait()

    def listen(self, session_id: str) -> AsyncIterator[str]:
        if not self._run_steps:
            raise InvalidRequest("Text as it is written is heard in the Worker's process only: follow the events here.")
        return self._pieces.listen(session_id)

    def _runs(self, flow_type: str) -> bool:
        return self._run_steps and flow_type in self._flows and not self._closing

    def _run_here(self, state: SessionState) -> None:
        """Starts the session's leg in this process, unless another has; the queue has it too."""
        if not self._closing:
            self._legs.start(self._begin(state))

    async def _begin(self, state: SessionState) -> None:
        assert state.leg is not None
        assert state.due is not None
        try:
            with answering(self._database), SetWorkflowID(direct_id(state.session_id, state.leg.number)):
                await DBOS.start_workflow_async(run_leg, state.session_id, state.leg.number, state.due.id)
        except DatabaseUnavailable:
            return  # `Outage` has said it
        except Exception as error:  # noqa: BLE001 - whatever it is, the queue or the next sweep runs the leg
            logger.warning("Leg %s of %s was not begun: %s.", state.leg.number, state.session_id, type(error).__name__)

    async def _begin_rounds(self, store: SessionStore) -> None:
        rounds = Rounds(
            store,
            self._dbos,
            worker_id=self._worker_id,
            flow_types=list(self._flows),
            waiting=self._waiting,
            change=self.change,
            run=self._run_here,
            hearing=self._hearing,
        )
        await rounds.start()
        self._rounds = rounds

    def _heard(self, channel: str, payload: str) -> None:
        if channel == SESSION_CHANGED and (session_id := self._notices.session(payload)) is not None:
            self._commits.news.tell(session_id)
        if channel == LEG_OPENED and self._rounds is not None:
            self._rounds.heard(self._notices.leg(payload))

    def _missed(self) -> None:
        self._commits.news.look()
        if self._rounds is not None:
            self._rounds.look()

    def _waiting(self) -> Sequence[OpenLeg]:
        with answering(self._database):
            found = self._dbos.list_workflows(
                status="ENQUEUED",
                queue_name=[_queue(flow_type) for flow_type in self._flows],
                load_input=False,
                load_output=False,
            )
        return [
            OpenLeg((workflow.queue_name or "").removeprefix(_QUEUE), *queued_leg(workflow.workflow_id))
            for workflow in found
        ]

    def _launch(self) -> None:
        serializer = DBOSPortableJSONSerializer()
        self._dbos = DBOSClient(
            system_database_engine=self._for_dbos,
            serializer=serializer,
            application_name=_APPLICATION,
            lazy=True,
            # Else a thread waits until the database is back, and a close for that thread.
            retry_connection_errors=False,
        )
        if self._run_steps:
            serve(self._runner)
            config: DBOSConfig = {
                "name": _APPLICATION,
                "system_database_engine": self._for_dbos,
                "application_version": _APPLICATION_VERSION,
                "executor_id": self._worker_id,
                "serializer": serializer,
                "log_level": "WARNING",
                "notification_listener_polling_interval_sec": _MESSAGES_SECONDS,
                "notification_coalesce_sec": _MESSAGES_SECONDS,
                "scheduler_polling_interval_sec": _SCHEDULES_SECONDS,
            }
            DBOS(config=config)
            # A queue per flow: a Worker takes no leg it could not run.
            queues = [_queue(flow_type) for flow_type in self._flows]
            DBOS.listen_queues(queues)
            DBOS.launch()
            for queue in queues:
                DBOS.register_queue(queue, polling_interval_sec=_QUEUE_POLLING_SECONDS)
        else:
            # A client may come before the first Worker, and what it enqueues needs DBOS's tables.
            DBOS.migrate(url_for_dbos(self._url))

    def _enqueue(self, connection: Connection, state: SessionState) -> None:
        """In the transaction that opens a leg: DBOS has it, and Workers hear of it unless this process runs it."""
        assert state.leg is not None
        assert state.due is not None
        if not self._runs(state.flow_type):
            self._notices.opened(connection, OpenLeg(state.flow_type, state.session_id, state.leg.number))
        self._dbos.enqueue_in_transaction(
            connection,
            {
                "workflow_name": LEG_WORKFLOW,
                "queue_name": _queue(state.flow_type),
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


def _queue(flow_type: str) -> str:
    return _QUEUE + flow_type
