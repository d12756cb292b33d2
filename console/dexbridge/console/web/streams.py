"""Server-sent events: streams that notice a client's leaving and the server's stop."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from dexbridge.console.web.refusals import Refused
from dexbridge.sessions import AgentSessionClient, SessionError, SessionEvent

__all__ = ["EventStreams", "encode_event", "encode_session_event", "encoded_text"]

_HEARTBEAT_SECONDS: Final = 15.0
_RECONNECT_MILLISECONDS: Final = 1000
_LATER: Final[Mapping[str, str]] = {"Retry-After": "5"}


class EventStreams:
    """The open event streams of a server.

    A quarter of them is kept for operators, so that sessions cannot take the page's live view away.

    Args:
        limit: How many may be open; one more is refused.
        each: How many of them a session's token may have, and a login.
    """

    def __init__(self, limit: int = 200, each: int = 10) -> None:
        self._limit = limit
        self._each = each
        self._of_sessions: Counter[str] = Counter()
        self._of_logins: Counter[str] = Counter()
        self._stopping = asyncio.Event()

    @property
    def open(self) -> int:
        """How many are open."""
        return self._of_sessions.total() + self._of_logins.total()

    def stop(self) -> None:
        """Ends every stream; the browsers come back by themselves."""
        self._stopping.set()

    def of_session(self, session_id: str, messages: AsyncIterator[bytes], *beside: AsyncIterator[bytes]) -> Response:
        """The answer that sends a session's events to a holder of its token; see `_Stream`.

        Raises:
            Refused: 429 when the session has too many, 503 when all have, or when the server stops.
        """
        if self._of_sessions[session_id] >= self._each:
            said = f"This session has {self._each} event streams open, the most it may have: close one."
            raise Refused(429, [("stream", said)], _LATER)
        self._check(self._of_sessions.total() < self._limit - self._limit // 4)
        return _Stream(self._of_sessions, session_id, self._stopping, [messages, *beside])

    def of_login(
        self,
        login: str,
        still: Callable[[], Awaitable[bool]],
        messages: AsyncIterator[bytes],
        *beside: AsyncIterator[bytes],
    ) -> Response:
        """The answer that sends events to an operator; see `_Stream`.

        Args:
            login: Which one of them.
            still: Whether it holds; asked every 15 seconds, and the stream ends when it does not.
            messages, beside: As for `_Stream`.

        Raises:
            Refused: 429 when the login has too many, 503 when all have, or when the server stops.
        """
        if self._of_logins[login] >= self._each:
            said = f"This login has {self._each} live pages open, the most it may have: close one."
            raise Refused(429, [("stream", said)], _LATER)
        self._check(self.open < self._limit)
        return _Stream(self._of_logins, login, self._stopping, [messages, *beside], still)

    def _check(self, room: bool) -> None:
        if not room or self._stopping.is_set():
            raise Refused(503, [("stream", "Too many event streams are open.")], _LATER)


class _Stream(StreamingResponse):
    """Sends encoded events as they come, and a comment when none has come for 15 seconds.

    Args:
        counted: Who has how many open; this one counts from now until it has been sent.
        holder: Whose it is.
        stopping: Ends it.
        sources: The stream ends with the first. The others are sent too while they last; the end of one, also in an
            error of the session's, ends nothing.
        still: Whether the holder may go on.
    """

    def __init__(
        self,
        counted: Counter[str],
        holder: str,
        stopping: asyncio.Event,
        sources: Sequence[AsyncIterator[bytes]],
        still: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        super().__init__(self._events(sources), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._counted = counted
        self._holder = holder
        self._stopping = stopping
        self._still = still
        counted[holder] += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._counted[self._holder] -= 1
            if not self._counted[self._holder]:
                del self._counted[self._holder]

    async def _events(self, sources: Sequence[AsyncIterator[bytes]]) -> AsyncGenerator[bytes]:
        asked = time.monotonic()
        stopping = asyncio.ensure_future(self._stopping.wait())
        upcoming = {asyncio.ensure_future(_next(source)): source for source in sources}
        try:
            yield f"retry: {_RECONNECT_MILLISECONDS}\n\n".encode()
            while True:
                done, _ = await asyncio.wait(
                    {stopping, *upcoming}, timeout=_HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if stopping in done:
                    return
                if self._still is not None and time.monotonic() - asked >= _HEARTBEAT_SECONDS:
                    asked = time.monotonic()
                    if not await self._still():
                        return
                if not done:
                    yield b": nothing new\n\n"
                for task in [one for one in upcoming if one in done]:
                    source = upcoming.pop(task)
                    message = _result(task, ends_all=source is sources[0])
                    if message is not None:
                        yield message
                        upcoming[asyncio.ensure_future(_next(source))] = source
                    elif source is sources[0]:
                        return
        finally:
            await _end(stopping, *upcoming)
            for source in sources:
                if isinstance(source, AsyncGenerator):
                    await source.aclose()


def encode_event(kind: str, data: object, sequence: int | None = None) -> bytes:
    """One server-sent event; its data is one line of JSON, so nothing in it can end the event."""
    # Kinds are our own words; a line end in one would be an error of ours.
    assert "\n" not in kind, kind
    numbered = "" if sequence is None else f"id: {sequence}\n"
    return f"{numbered}event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def encode_session_event(event: SessionEvent) -> bytes:
    """A session's event; its ID is its sequence, which `Last-Event-ID` brings back."""
    return encode_event(event.kind.value, event.model_dump(mode="json"), event.sequence)


async def encoded_text(
    sessions: AgentSessionClient, session_id: str, safe: Callable[[str], str] = str
) -> AsyncGenerator[bytes]:
    """What the session's model is writing, as events without an ID; nothing where no Steps run.

    Args:
        sessions: A client.
        session_id: The session.
        safe: Applied to each piece.
    """
    async for piece in sessions.listen(session_id):
        yield encode_event("text", {"text": safe(piece)})


def _result(task: asyncio.Future[bytes | None], *, ends_all: bool) -> bytes | None:
    try:
        return task.result()
    except SessionError:
        if ends_all:
            raise
        return None


async def _end(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _next(messages: AsyncIterator[bytes]) -> bytes | None:
    return await anext(messages, None)
