"""A process's way to the sessions on a Dex Server: RPCs of their Flows, through the SDK's client."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import random
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import dex

from dexbridge.sessions.engines.dex.event_feed import EventFeed
from dexbridge.sessions.engines.dex.kept.schema import CALLS, EVENTS, MAPS, MESSAGE_KEYS, MESSAGES, number, physical
from dexbridge.sessions.engines.dex.kept.stored import (
    Commit,
    Envelope,
    Once,
    ReadRequest,
    Rows,
    Segment,
    Staged,
    decode,
    encode,
)
from dexbridge.sessions.engines.dex.kept.transcript import join, split
from dexbridge.sessions.engines.dex.kept.writing import commit_of
from dexbridge.sessions.engines.dex.news import News
from dexbridge.sessions.errors import DatabaseUnavailable, UnknownSession
from dexbridge.sessions.hosting.patience import until_back
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.event import SessionEvent
from dexbridge.sessions.state.message import Message, with_marks
from dexbridge.sessions.state.snapshot import SessionSnapshot
from dexbridge.sessions.state.transition import (
    Change,
    MessageKey,
    Refusal,
    Repeated,
    Settle,
    TranscriptEntry,
    Transition,
)

__all__ = ["ANSWER_SECONDS", "SessionLink", "SessionRpcs", "once_of"]

T = TypeVar("T")
Row = tuple[dex.AttributeMap[str], str]

ANSWER_SECONDS = 45.0
"""How long an answer is waited for; the SDK's client would wait for ever, and the RPCs themselves have 30 s."""

_ROWS_AT_ONCE = 50
_PARTS_AT_ONCE = 8
_TRIES = 6
_LOCK_TRIES = 200
_MOST_WAITING_BYTES = 512 * 1024


class SessionRpcs(Protocol):
    """The RPCs of a session's Flow that the link calls."""

    def read(self, context: dex.Context, input: str) -> dex.RPCResult[str]: ...  # noqa: A002 - the SDK's name

    def stage(self, context: dex.Context, input: str) -> None: ...  # noqa: A002 - the SDK's name

    def commit(self, context: dex.Context, input: str) -> dex.RPCResult[bool]: ...  # noqa: A002 - the SDK's name


class SessionLink:
    """Reads and commits sessions. Every commit is a compare-and-set on the session's version, under its lock.

    Args:
        rpcs: A Flow the client's Registry holds; a session's own may be another of the same kind.
        client: The SDK's client.
        news: Told of this link's commits.
        feed: Given the events of this link's commits.
        waits: Whether a server that is away is waited for as long as it takes, as a Step does; else for some seconds.
    """

    def __init__(
        self, rpcs: SessionRpcs, client: dex.AsyncClient, news: News, feed: EventFeed, *, waits: bool = False
    ) -> None:
        self._rpcs = rpcs
        self._client = client
        self._news = news
        self._feed = feed
        self._waits = waits

    def waiting(self) -> SessionLink:
        """The same way to the sessions, which waits for a server that is away."""
        return SessionLink(self._rpcs, self._client, self._news, self._feed, waits=True)

    async def read(self, session_id: str, rows: Sequence[Row] = ()) -> tuple[Envelope, Mapping[str, str]]:
        """The session and those entries as of one moment, by physical name. Raises `UnknownSession`."""
        names = [physical(*row) for row in rows]
        options = dex.RPCInvokeOptions(
            load_attribute_map_instances=tuple(entries.load(instance) for entries, instance in rows)
        )
        request = encode(ReadRequest(rows=tuple((entries.name, instance) for entries, instance in rows)))
        text = await self._repeatable(
            session_id, lambda: self._client.invoke_rpc(self._rpcs.read, session_id, request, options=options)
        )
        found = decode(Rows, text, session_id)
        envelope = decode(Envelope, found.session, session_id)
        if envelope.pruned:
            raise UnknownSession(session_id)
        return envelope, {name: found.rows[name] for name in names if name in found.rows}

    async def load(self, session_id: str) -> Envelope:
        """The session. Raises `UnknownSession`."""
        return (await self.read(session_id))[0]

    async def change(
        self, session_id: str, change: Change, *, once: MessageKey | None = None, bounded: bool = False
    ) -> Transition | Refusal | Repeated:
        """Applies a change to the newest state and commits it.

        Args:
            session_id: The session.
            change: May be called more than once.
            once: See `SessionEngine.change`.
            bounded: Whether a state that grew too large by what waits is refused.
        """
        key = None if once is None else once_of(once)
        while True:
            rows = [] if key is None else [(MESSAGE_KEYS, key.key)]
            before, found = await self.read(session_id, rows)
            if key is not None and found:
                return _seen(key, next(iter(found.values())))
            result = change(before.state)
            if isinstance(result, Refusal):
                return result
            if bounded and len(result.state.model_dump_json()) > _MOST_WAITING_BYTES:
                return Refusal("the session holds too much that waits")
            token = uuid.uuid4().hex
            segment, parts = await self._stage(session_id, token, result.transcript)
            commit = commit_of(before, result, token, segment).model_copy(update={"once": key, "parts": parts})
            if await self.try_commit(session_id, commit):
                return replace(result, state=commit.state)

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Transition | Refusal:
        """Applies a change that needs the record of a call."""
        while True:
            before, found = await self.read(session_id, [(CALLS, step_execution_id)])
            if not found:
                return Refusal(f"no call was recorded for {step_execution_id}")
            result = settle(before.state, decode(CallRecord, next(iter(found.values())), session_id))
            if isinstance(result, Refusal):
                return result
            commit = commit_of(before, result, uuid.uuid4().hex)
            if await self.try_commit(session_id, commit):
                return replace(result, state=commit.state)

    async def try_commit(self, session_id: str, commit: Commit) -> bool:
        """Commits; `False` when another commit came first.

        Raises:
            DatabaseUnavailable: No answer came, and the session has moved on so far that ours cannot be recognised.
        """
        text = encode(commit)
        for tried in itertools.count() if self._waits else range(_TRIES):
            try:
                committed = await _unlocked(
                    session_id, lambda: self._client.invoke_rpc(self._rpcs.commit, session_id, text)
                )
            except DatabaseUnavailable:
                after = await self.load(session_id)
                committed = after.token == commit.token
                if not committed and after.version > commit.expected + 1:
                    raise
                if not committed and after.version == commit.expected:
                    await _pause(tried)
                    continue
            if committed:
                self._news.tell(session_id)
                self._feed.put(session_id, commit.state.flow_type, commit.events)
            return committed
        raise DatabaseUnavailable(f"The Dex Server did not commit a change of {session_id!r}: ask again.")

    async def snapshot(self, session_id: str) -> SessionSnapshot:
        """State, messages and calls. What is appended while it is read is not in it."""
        envelope = await self.load(session_id)
        said = await self._all(session_id, MESSAGES, [number(n + 1) for n in range(envelope.state.message_count)])
        calls = await self._calls(session_id, envelope.call_ids)
        return SessionSnapshot(
            state=envelope.state,
            messages=with_marks(decode(Message, text, session_id) for text in said),
            calls=tuple(calls),
            last_event=envelope.state.event_count,
        )

    async def calls(self, session_id: str) -> Sequence[CallRecord]:
        """The records of its calls, oldest first."""
        return await self._calls(session_id, (await self.load(session_id)).call_ids)

    async def events(self, session_id: str, after: int) -> Sequence[SessionEvent]:
        """The next events after a sequence number, some of them."""
        keys = [number(after + place) for place in range(1, _ROWS_AT_ONCE + 1)]
        _, found = await self.read(session_id, [(EVENTS, key) for key in keys])
        texts = [found[name] for key in keys if (name := physical(EVENTS, key)) in found]
        return [decode(SessionEvent, text, session_id) for text in texts]

    async def transcript(self, session_id: str) -> Sequence[TranscriptEntry]:
        """The committed transcript, in order."""
        entries: list[TranscriptEntry] = []
        for segment in (await self.load(session_id)).segments:
            keys = [f"{segment.token}.{place}" for place in range(segment.parts)]
            entries.extend(join(await self._all(session_id, MAPS["transcript"], keys, _PARTS_AT_ONCE)))
        return entries

    async def _repeatable(self, session_id: str, call: Callable[[], Awaitable[T]]) -> T:
        if self._waits:
            return await until_back(lambda: _calling(session_id, call))
        return await _patiently(session_id, call)

    async def _calls(self, session_id: str, call_ids: Sequence[str]) -> Sequence[CallRecord]:
        made = await self._all(session_id, CALLS, call_ids)
        return sorted((decode(CallRecord, text, session_id) for text in made), key=lambda call: call.started_at)

    async def _all(
        self, session_id: str, entries: dex.AttributeMap[str], keys: Sequence[str], at_once: int = _ROWS_AT_ONCE
    ) -> list[str]:
        texts: list[str] = []
        for first in range(0, len(keys), at_once):
            some = keys[first : first + at_once]
            _, found = await self.read(session_id, [(entries, key) for key in some])
            texts.extend(found[physical(entries, key)] for key in some)
        return texts

    async def _stage(
        self, session_id: str, token: str, transcript: Sequence[TranscriptEntry]
    ) -> tuple[Segment | None, tuple[str, ...]]:
        """Writes most pieces of a long transcript ahead, so that no request is too large; returns the first ones."""
        if not transcript:
            return None, ()
        parts = split(transcript)
        for first in range(_PARTS_AT_ONCE, len(parts), _PARTS_AT_ONCE):
            some = parts[first : first + _PARTS_AT_ONCE]
            request = encode(Staged(token=token, first=first, parts=some))
            await self._repeatable(
                session_id, lambda request=request: self._client.invoke_rpc(self._rpcs.stage, session_id, request)
            )
        return Segment(token=token, parts=len(parts)), parts[:_PARTS_AT_ONCE]


def once_of(key: MessageKey) -> Once:
    """A message's key as it is stored; the caller's ID may be any text."""
    return Once(key=hashlib.sha256(key.message_id.encode()).hexdigest(), digest=key.digest)


def _seen(key: Once, digest: str) -> Repeated | Refusal:
    return Repeated() if digest == key.digest else Refusal("another message was accepted under that message_id")


async def _unlocked(session_id: str, call: Callable[[], Awaitable[T]]) -> T:
    """For an RPC that locks the session. Dex does not wait for a lock, so we do."""
    for tried in range(_LOCK_TRIES):
        try:
            return await _calling(session_id, call)
        except dex.RpcLockConflictError:
            await _pause(min(tried, 2))
    raise DatabaseUnavailable(f"The session {session_id!r} stayed locked for too long: ask again.")


async def _patiently(session_id: str, call: Callable[[], Awaitable[T]]) -> T:
    """For calls that may be made twice."""
    for tried in range(_TRIES - 1):
        try:
            return await _calling(session_id, call)
        except DatabaseUnavailable:
            await _pause(tried)
    return await _calling(session_id, call)


async def _calling(session_id: str, call: Callable[[], Awaitable[T]]) -> T:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await call()
    except TimeoutError:
        raise DatabaseUnavailable(f"The Dex Server did not answer for {session_id!r} in time: ask again.") from None
    except (dex.FlowNotActiveOrNotFoundError, dex.FlowNotFoundError):
        raise UnknownSession(session_id) from None
    except dex.RpcLockConflictError:
        raise
    except dex.DexServiceError as error:
        # The detail may quote what a Worker was given.
        reason = f"{error.code.name}, {error.sub_status.name}"
        raise DatabaseUnavailable(
            f"The Dex Server or the Worker of {session_id!r} did not do its part ({reason}). Requests need a Worker of "
            "the session's flow: is one running?"
        ) from None


async def _pause(tried: int) -> None:
    await asyncio.sleep(min(2.0, 0.02 * 3**tried) * (0.5 + random.random()))  # noqa: S311 - spreads retries
