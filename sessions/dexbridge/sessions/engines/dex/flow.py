"""A session's Flow: what a `dex.Registry` registers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta

import dex

from dexbridge.sessions.changes import requests
from dexbridge.sessions.engines.dex.event_feed import EventFeed
from dexbridge.sessions.engines.dex.kept.blobs import blob_cache
from dexbridge.sessions.engines.dex.kept.hosted import HostedLink
from dexbridge.sessions.engines.dex.kept.pruning import forget
from dexbridge.sessions.engines.dex.kept.schema import (
    CALLS,
    EVENT_STREAM_BYTES,
    MAPS,
    MESSAGE_KEYS,
    MESSAGES,
    SESSION,
    found,
    number,
    persistence,
    physical,
)
from dexbridge.sessions.engines.dex.kept.stored import (
    Commit,
    Due,
    Envelope,
    Once,
    ReadRequest,
    Rows,
    Staged,
    decode,
    encode,
)
from dexbridge.sessions.engines.dex.kept.writing import commit_of, write_commit, write_parts
from dexbridge.sessions.engines.dex.link import SessionLink, once_of
from dexbridge.sessions.engines.dex.news import News
from dexbridge.sessions.engines.dex.step_options import SHORT
from dexbridge.sessions.engines.dex.step_run import StepRun
from dexbridge.sessions.engines.dex.steps import FinishSession, session_steps
from dexbridge.sessions.errors import InvalidRequest
from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.hosting.step_host import StepHost
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.message import Message
from dexbridge.sessions.state.snapshot import SessionSnapshot
from dexbridge.sessions.state.transition import Change, Refusal

__all__ = ["Answer", "DexSessionFlow", "InterruptDecision", "OutcomeSettlement", "UserText", "dex_flow"]

_RPC_LIMIT = timedelta(seconds=30)


@dataclass(frozen=True)
class UserText:
    """Input of `send_user_message` and `steer`; a message ID of `""` is made up."""

    text: str
    message_id: str


@dataclass(frozen=True)
class InterruptDecision:
    """Input of `resolve_interrupt`; only `True` approves."""

    interrupt_id: str
    approved: bool
    rejection_message: str
    decided_by: str


@dataclass(frozen=True)
class OutcomeSettlement:
    """Input of `settle`: a person says whether a call of unknown outcome took effect."""

    step_execution_id: str
    sent: bool
    note: str
    settled_by: str


@dataclass(frozen=True)
class Answer:
    """Whether the session accepted, and why not."""

    accepted: bool
    reason: str


class DexSessionFlow(dex.Flow[None]):
    """An `AgentSessionFlow` as a Flow of the Dex SDK. Made by `dex_flow`.

    Steps speak to the server while they run: they read the newest state, commit rows of the attempt ledger before a
    request, and commit their result. So a Worker needs room for at least one RPC beside its Steps; the SDK keeps that
    free by itself when `max_concurrent_tasks` is two or more.
    """

    def __init__(
        self,
        flow: AgentSessionFlow,
        options: dex.ClientOptions | None = None,
        say: Callable[[str, str], None] = lambda _session_id, _text: None,
    ) -> None:
        self._flow = flow
        self._options = options
        self._connected: SessionLink | None = None
        self._client: dex.AsyncClient | None = None
        self._own = ExitStack()
        self.news = News()
        self.events = dex.Stream("event-log", str, EVENT_STREAM_BYTES)
        sessions = HostedLink(self._link, lambda: self.news)
        self.host = StepHost({flow.flow_type: flow}, sessions, say)
        self._steps = session_steps(StepRun(sessions, self.host))

    @property
    def session_flow(self) -> AgentSessionFlow:
        """What this Flow runs."""
        return self._flow

    def connect(self, client: dex.AsyncClient) -> None:
        """Uses that client for what Steps read and commit, instead of one of its own."""
        feed = EventFeed(client, {self._flow.flow_type: self.events})
        self._connected = SessionLink(self, client, self.news, feed)

    def share(self, link: SessionLink, news: News) -> None:
        """Uses the engine's own link, so that the process has one."""
        self._connected = link
        self.news = news

    async def close(self) -> None:
        """Ends the Steps that run here, and the client of its own if it made one. Call it when the Worker closes."""
        self.news.close()
        await self.host.stop()
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        self._own.close()

    def get_flow_type(self) -> str:
        return self._flow.flow_type

    def get_steps(self) -> dex.StepList[None]:
        return self._steps

    def get_persistence_schema(self) -> dex.PersistenceSchema:
        return persistence(self.events)

    @dex.rpc(timeout=_RPC_LIMIT)
    def read(self, context: dex.Context, input: str) -> dex.RPCResult[str]:  # noqa: A002 - the SDK's name
        """The session and the entries asked for."""
        request = decode(ReadRequest, input, context.flow_id)
        rows: dict[str, str] = {}
        for name, instance in request.rows:
            entries = MAPS[name]
            text = found(context, entries, instance)
            if text is not None:
                rows[physical(entries, instance)] = text
        return dex.RPCResult(encode(Rows(session=SESSION.get(context), rows=rows)))

    @dex.rpc(timeout=_RPC_LIMIT, is_transactional=True)
    def stage(self, context: dex.Context, input: str) -> None:  # noqa: A002 - the SDK's name
        """Writes pieces of a transcript before the commit that names them."""
        staged = decode(Staged, input, context.flow_id)
        write_parts(context, staged.token, staged.first, staged.parts)

    @dex.rpc(timeout=_RPC_LIMIT, lock_attributes=(SESSION.lock(),), is_transactional=True)
    def commit(self, context: dex.Context, input: str) -> dex.RPCResult[bool]:  # noqa: A002 - the SDK's name
        """Commits what was made from a version; `False` when that is no longer the session's."""
        commit = decode(Commit, input, context.flow_id)
        before = self._envelope(context)
        if before.pruned or before.version != commit.expected:
            return dex.RPCResult(output=False)
        return dex.RPCResult(output=True, next_steps=self._write(context, before, commit))

    @dex.rpc(
        timeout=_RPC_LIMIT,
        lock_attributes=(SESSION.lock(),),
        is_transactional=True,
        load_attribute_maps=(MESSAGE_KEYS, CALLS),
    )
    def prune(self, context: dex.Context, input: str) -> dex.RPCResult[bool]:  # noqa: A002 - the SDK's name
        """Forgets a session that is idle or ended and was last changed before that time, and closes its Flow.

        One that holds an outcome nobody knows is left as it is.
        """
        forgotten = forget(context, self._envelope(context), input)
        if forgotten is None:
            return dex.RPCResult(output=False)
        SESSION.set(context, encode(forgotten))
        finish = dex.StepMovement(FinishSession, encode(Due(step="FinishSession-1")), SHORT)
        return dex.RPCResult(output=True, next_steps=(finish,))

    @dex.rpc(
        timeout=_RPC_LIMIT,
        lock_attributes=(SESSION.lock(),),
        is_transactional=True,
        load_attribute_maps=(MESSAGE_KEYS,),
    )
    def send_user_message(self, context: dex.Context, input: UserText) -> dex.RPCResult[Answer]:  # noqa: A002
        """See `AgentSessionClient.send_user_message`."""
        return self._said(context, input, requests.accept_message)

    @dex.rpc(
        timeout=_RPC_LIMIT,
        lock_attributes=(SESSION.lock(),),
        is_transactional=True,
        load_attribute_maps=(MESSAGE_KEYS,),
    )
    def steer(self, context: dex.Context, input: UserText) -> dex.RPCResult[Answer]:  # noqa: A002 - the SDK's name
        """See `AgentSessionClient.steer`."""
        return self._said(context, input, requests.steer)

    @dex.rpc(timeout=_RPC_LIMIT, lock_attributes=(SESSION.lock(),), is_transactional=True)
    def resolve_interrupt(
        self,
        context: dex.Context,
        input: InterruptDecision,  # noqa: A002 - the SDK's name
    ) -> dex.RPCResult[Answer]:
        """See `AgentSessionClient.resolve_interrupt`."""
        return self._changed(
            context,
            lambda: requests.resolve_interrupt(
                input.interrupt_id,
                approved=input.approved,
                rejection_message=input.rejection_message or None,
                decided_by=input.decided_by or None,
            ),
        )

    @dex.rpc(timeout=_RPC_LIMIT, lock_attributes=(SESSION.lock(),), is_transactional=True)
    def cancel_turn(self, context: dex.Context) -> dex.RPCResult[Answer]:
        """See `AgentSessionClient.cancel_turn`."""
        return self._changed(context, requests.cancel_turn)

    @dex.rpc(timeout=_RPC_LIMIT, lock_attributes=(SESSION.lock(),), is_transactional=True)
    def end_session(self, context: dex.Context) -> dex.RPCResult[Answer]:
        """See `AgentSessionClient.end_session`."""
        return self._changed(context, requests.end_session)

    @dex.rpc(timeout=_RPC_LIMIT, lock_attributes=(SESSION.lock(),), is_transactional=True, load_attribute_maps=(CALLS,))
    def settle(self, context: dex.Context, input: OutcomeSettlement) -> dex.RPCResult[Answer]:  # noqa: A002
        """See `AgentSessionClient.resolve_outcome`."""
        text = found(context, CALLS, input.step_execution_id) if "/" not in input.step_execution_id else None
        if text is None:
            return dex.RPCResult(Answer(accepted=False, reason="no call was recorded for that Step"))
        record = decode(CallRecord, text, context.flow_id)

        def made() -> Change:
            settle = requests.settle_call(sent=input.sent, note=input.note or None, settled_by=input.settled_by or None)
            return lambda state: settle(state, record)

        return self._changed(context, made)

    @dex.rpc(timeout=_RPC_LIMIT, load_attribute_maps=(MESSAGES, CALLS))
    def get_snapshot(self, context: dex.Context) -> dex.RPCResult[str]:
        """The snapshot as JSON, as the session routes return it."""
        envelope = self._envelope(context)
        said = [MESSAGES.get(context, number(n + 1)) for n in range(envelope.state.message_count)]
        made = [CALLS.get(context, step) for step in envelope.call_ids]
        snapshot = SessionSnapshot(
            state=envelope.state,
            messages=tuple(decode(Message, text, context.flow_id) for text in said),
            calls=tuple(decode(CallRecord, text, context.flow_id) for text in made),
            last_event=envelope.state.event_count,
        )
        return dex.RPCResult(json.dumps(snapshot.to_json()))

    def _said(self, context: dex.Context, said: UserText, kind: Callable[..., Change]) -> dex.RPCResult[Answer]:
        limits = self._flow.limits
        try:
            message, key = requests.user_message(limits, said.text, said.message_id or None)
        except InvalidRequest as error:
            return dex.RPCResult(Answer(accepted=False, reason=str(error)))
        once = once_of(key)
        digest = found(context, MESSAGE_KEYS, once.key)
        if digest is not None:
            same = digest == once.digest
            return dex.RPCResult(
                Answer(accepted=same, reason="" if same else "another message was accepted under that message_id")
            )
        return self._changed(context, lambda: kind(limits, message), once)

    def _changed(
        self, context: dex.Context, made: Callable[[], Change], once: Once | None = None
    ) -> dex.RPCResult[Answer]:
        try:
            change = made()
        except InvalidRequest as error:
            return dex.RPCResult(Answer(accepted=False, reason=str(error)))
        before = self._envelope(context)
        result = Refusal("the session was pruned") if before.pruned else change(before.state)
        if isinstance(result, Refusal):
            return dex.RPCResult(Answer(accepted=False, reason=result.reason))
        commit = commit_of(before, result, uuid.uuid4().hex).model_copy(update={"once": once})
        return dex.RPCResult(Answer(accepted=True, reason=""), next_steps=self._write(context, before, commit))

    def _write(self, context: dex.Context, before: Envelope, commit: Commit) -> tuple[dex.StepMovement[str], ...]:
        movements = write_commit(context, self._flow, before, commit)
        self.news.tell(context.flow_id)
        return movements

    def _envelope(self, context: dex.Context) -> Envelope:
        return decode(Envelope, SESSION.get(context), context.flow_id)

    def _link(self) -> SessionLink:
        if self._connected is None:
            cache = self._own.enter_context(blob_cache())
            registry = dex.Registry((self,), allow_async_handlers=True)
            self._client = dex.AsyncClient(registry, cache, self._options)
            self.connect(self._client)
        assert self._connected is not None
        return self._connected


def dex_flow(flow: AgentSessionFlow, options: dex.ClientOptions | None = None) -> DexSessionFlow:
    """Returns the flow as a Flow of the Dex SDK.

    It goes into `dex.Registry((dex_flow(flow),), allow_async_handlers=True)`, and from there into the SDK's
    `AsyncWorker` and `AsyncClient`.

    Args:
        flow: The application's flow.
        options: How its Steps reach the Dex Server; the SDK's defaults (`localhost:8801`) when left out. Give the same
            as to the Worker, or call `connect` with the application's client.
    """
    return DexSessionFlow(flow, options)
