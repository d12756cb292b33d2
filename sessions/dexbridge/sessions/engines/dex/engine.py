"""The engine of a Dex Server: the SDK's Worker and client behind the engine port."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Generator, Sequence
from contextlib import AsyncExitStack, contextmanager
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

import dex

from dexbridge.sessions.engines.dex.address import DexAddress
from dexbridge.sessions.engines.dex.event_feed import EventFeed
from dexbridge.sessions.engines.dex.flow import DexSessionFlow
from dexbridge.sessions.engines.dex.kept.blobs import blob_cache
from dexbridge.sessions.engines.dex.link import ANSWER_SECONDS, SessionLink
from dexbridge.sessions.engines.dex.news import News
from dexbridge.sessions.engines.dex.starting import begin
from dexbridge.sessions.engines.dex.worker import running_worker
from dexbridge.sessions.errors import DatabaseUnavailable, InvalidRequest, UnknownSession
from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.hosting.text_pieces import TextPieces
from dexbridge.sessions.state.event import SessionEvent
from dexbridge.sessions.state.snapshot import SessionSnapshot, SessionSummary
from dexbridge.sessions.state.transition import Change, MessageKey, Refusal, Repeated, Settle, Transition

__all__ = ["DexEngine"]

T = TypeVar("T")

_PAGE = 200
_AT_ONCE = 16
_FOLLOWER_SECONDS = 10.0


class DexEngine:
    """Runs sessions on a Dex Server. Made by `open_engine`; enter it once.

    Reading a session and asking something of it are RPCs of its Flow, so they need a Worker of that flow somewhere.
    """

    def __init__(self, url: str, flows: Sequence[AgentSessionFlow], *, run_steps: bool) -> None:
        self._address = DexAddress.parse(url)
        self._flows = {flow.flow_type: flow for flow in flows}
        if len(self._flows) != len(flows):
            raise InvalidRequest("Two flows share a flow_type: give each its own.")
        if not flows:
            raise InvalidRequest(
                "A Dex Server's sessions are reached through their flows: give open_engine at least one."
            )
        self._run_steps = run_steps
        self._pieces = TextPieces()
        self._news = News()
        self._followers: set[asyncio.Future[None]] = set()
        self._entered = False
        self._open: SessionLink | None = None

    @property
    def flows(self) -> Sequence[AgentSessionFlow]:
        return tuple(self._flows.values())

    @property
    def marks(self) -> None:
        return None

    async def __aenter__(self) -> Self:
        if self._entered:
            raise InvalidRequest("An engine is entered once: call open_engine again for another.")
        self._entered = True
        async with AsyncExitStack() as undo:
            cache = undo.enter_context(blob_cache())
            self._dex_flows = {name: DexSessionFlow(flow, say=self._pieces.say) for name, flow in self._flows.items()}
            registry = dex.Registry(tuple(self._dex_flows.values()), allow_async_handlers=True)
            options = dex.ClientOptions(self._address.server, self._address.worker_target)
            self._client = await undo.enter_async_context(dex.AsyncClient(registry, cache, options))
            await _asked(self._client.health_check(), f"No Dex Server answers at {self._address.server}")
            self._feed = EventFeed(self._client, {name: flow.events for name, flow in self._dex_flows.items()})
            undo.push_async_callback(self._feed.close)
            any_flow = next(iter(self._dex_flows.values()))
            link = SessionLink(any_flow, self._client, self._news, self._feed)
            for flow in self._dex_flows.values():
                flow.share(link, self._news)
            if self._run_steps:
                await undo.enter_async_context(running_worker(registry, cache, self._address))
            self._open = link
            self._opened = undo.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._opened:
            self._news.close()
            self._pieces.close()
            while self._followers:
                await asyncio.wait(self._followers, timeout=_FOLLOWER_SECONDS)
            await asyncio.gather(*(flow.host.stop() for flow in self._dex_flows.values()))
            for flow in self._flows.values():
                await flow.runner.close()
        self._open = None

    @property
    def _link(self) -> SessionLink:
        if self._open is None:
            raise InvalidRequest("The engine is not open: use it inside `async with open_engine(…)`.")
        return self._open

    async def start(self, first: Transition) -> bool:
        assert self._link
        flow = self._dex_flows[first.state.flow_type]
        try:
            events = await _asked(begin(self._client, flow, first), "The session was not started")
        except dex.FlowAlreadyStartedError:
            return False
        self._feed.put(first.state.session_id, first.state.flow_type, events)
        return True

    async def change(
        self, session_id: str, change: Change, *, once: MessageKey | None = None
    ) -> Transition | Refusal | Repeated:
        return await self._link.change(session_id, change, once=once, bounded=True)

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Transition | Refusal:
        return await self._link.settle(session_id, step_execution_id, settle)

    async def prune(self, older_than: datetime) -> Sequence[str]:
        assert self._link
        pruned: list[str] = []
        for session_id, flow_type in await self._found():
            rpc = self._dex_flows[flow_type].prune
            with contextlib.suppress(dex.FlowNotActiveOrNotFoundError):
                if await _asked(
                    self._client.invoke_rpc(rpc, session_id, older_than.isoformat()),
                    f"The session {session_id!r} was not pruned",
                ):
                    pruned.append(session_id)
        return pruned

    async def snapshot(self, session_id: str) -> SessionSnapshot:
        return await self._link.snapshot(session_id)

    async def list_sessions(
        self, *, limit: int, after: str | None, changed_since: datetime | None
    ) -> Sequence[SessionSummary]:
        assert self._link
        sessions = [session_id for session_id, _ in await self._found() if after is None or session_id > after]
        found: list[SessionSummary] = []
        while sessions and len(found) < limit:
            some, sessions = sessions[:_AT_ONCE], sessions[_AT_ONCE:]
            summaries = await asyncio.gather(*(self._summary(session_id, changed_since) for session_id in some))
            found.extend(summary for summary in summaries if summary is not None)
        return found[:limit]

    async def events(self, session_id: str, *, after: int, follow: bool) -> AsyncIterator[SessionEvent]:
        flow_type = (await self._link.load(session_id)).state.flow_type
        place = await self._feed.newest(session_id, flow_type) if follow else ""
        ended = False
        while not ended:
            with self._asking():
                # What was committed before a close is still told.
                closed = self._news.closed
                found: Sequence[SessionEvent] = ()
                try:
                    found = await self._link.events(session_id, after)
                except DatabaseUnavailable:
                    if closed or not follow:
                        raise
                    # Between two Workers of the flow nobody can answer; a follower waits for the next one.
                if not found and follow and not closed:
                    place = await self._next_place(session_id, flow_type, place)
            for event in found:
                after = event.sequence
                yield event
            ended = not found and (closed or not follow)

    def listen(self, session_id: str) -> AsyncIterator[str]:
        if not self._run_steps:
            raise InvalidRequest("Text as it is written is heard in the Worker's process only: follow the events here.")
        return self._pieces.listen(session_id)

    @contextmanager
    def _asking(self) -> Generator[None]:
        """A follower reads; a close lets it end."""
        asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._followers.add(asked)
        try:
            yield
        finally:
            self._followers.discard(asked)
            if not asked.done():
                asked.set_result(None)

    async def _next_place(self, session_id: str, flow_type: str, place: str) -> str:
        """Waits for a message of the Stream, for a commit of this process, or for the close."""
        with self._news.following(session_id) as changed:
            message = asyncio.create_task(self._feed.wait(session_id, flow_type, place))
            commit = asyncio.create_task(changed.wait())
            try:
                await asyncio.wait([message, commit], return_when=asyncio.FIRST_COMPLETED)
                return message.result() if message.done() else place
            finally:
                message.cancel()
                commit.cancel()
                await asyncio.gather(message, commit, return_exceptions=True)

    async def _summary(self, session_id: str, changed_since: datetime | None) -> SessionSummary | None:
        try:
            envelope = await self._link.load(session_id)
            if changed_since is not None and envelope.updated_at < changed_since:
                return None
            snapshot = await self._link.snapshot(session_id)
        except UnknownSession:
            return None
        first = snapshot.messages[0].text if snapshot.messages else ""
        return SessionSummary.of(snapshot.state, envelope.updated_at, first, snapshot.calls)

    async def _found(self) -> list[tuple[str, str]]:
        """Sessions of our flows and their flow type, by ID. The server's index may lag behind for a moment."""
        found: dict[str, str] = {}
        for flow_type in self._flows:
            token = ""
            while True:
                page = await _asked(
                    self._client.search_flows(f"FlowType = '{flow_type}'", _PAGE, token), "The sessions were not listed"
                )
                found.update((entry.flow_id, flow_type) for entry in page.flows)
                token = page.next_page_token
                if not token:
                    break
        return sorted(found.items())


async def _asked(call: Awaitable[T], what_not: str) -> T:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await call
    except TimeoutError:
        raise DatabaseUnavailable(f"{what_not}: no answer within {ANSWER_SECONDS:g} s.") from None
    except (dex.FlowAlreadyStartedError, dex.FlowNotActiveOrNotFoundError):
        raise
    except dex.DexServiceError as error:
        raise DatabaseUnavailable(f"{what_not}: {error.code.name}, {error.sub_status.name}.") from None
