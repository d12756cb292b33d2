"""The live side of a session's events: a best-effort Stream that wakes whoever follows the log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta

import dex

from dexbridge.sessions.engines.dex.kept.stored import Notice, encode
from dexbridge.sessions.state.event import SessionEvent

__all__ = ["EventFeed"]

logger = logging.getLogger(__name__)

_SOURCE = "dexbridge"
_LOOK = timedelta(seconds=2)
_MOST_WAITING = 10_000


class EventFeed:
    """Tells of committed events on their session's Stream, and waits for others' there.

    The log itself is the AttributeMap `events`, committed with the state; the Stream may lose and trim messages, holds
    no more than 100 KiB in one, and keeps what a prune should take.

    Args:
        client: The SDK's client.
        streams: By flow type; a Stream belongs to one Flow.
    """

    def __init__(self, client: dex.AsyncClient, streams: Mapping[str, dex.Stream[str]]) -> None:
        self._client = client
        self._streams = streams
        self._waiting: asyncio.Queue[tuple[str, str, SessionEvent]] = asyncio.Queue(_MOST_WAITING)
        self._writing: asyncio.Task[None] | None = None

    def put(self, session_id: str, flow_type: str, events: Sequence[SessionEvent]) -> None:
        """Has the events written soon, in order."""
        if flow_type not in self._streams:
            return
        for event in events:
            with contextlib.suppress(asyncio.QueueFull):
                self._waiting.put_nowait((session_id, flow_type, event))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def newest(self, session_id: str, flow_type: str) -> str:
        """The Stream's end, for `wait`; empty when it is not known."""
        if flow_type not in self._streams:
            return ""
        try:
            page = await self._client.list_stream_messages(session_id, self._streams[flow_type], 1)
        except dex.DexServiceError:
            return ""
        return page.messages[0].resume_token if page.messages else ""

    async def wait(self, session_id: str, flow_type: str, token: str) -> str:
        """Waits for a message after that place, at most 2 s; returns the new place."""
        if flow_type in self._streams:
            try:
                message = await self._client.read_stream(session_id, self._streams[flow_type], token, _LOOK)
            except dex.LongPollTimeoutError:
                return token
            except dex.DexServiceError as error:
                logger.debug("Reading the Stream of %s failed: %s.", session_id, error.code.name)
            else:
                return message.resume_token
        await asyncio.sleep(_LOOK.total_seconds() / 4)
        return ""

    async def close(self) -> None:
        """Writes what waits, for a moment, and ends."""
        if self._writing is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._writing, 1)

    async def _write(self) -> None:
        while not self._waiting.empty():
            session_id, flow_type, event = self._waiting.get_nowait()
            notice = encode(Notice(sequence=event.sequence, at=event.at, kind=event.kind))
            try:
                await self._client.write_stream(session_id, self._streams[flow_type], _SOURCE, notice)
            except dex.DexServiceError as error:
                logger.debug("Writing the Stream of %s failed: %s.", session_id, error.code.name)
