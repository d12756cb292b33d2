"""Server-sent events: streams that notice a client's leaving and the server's stop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any, Final

from starlette.responses import Response, StreamingResponse

from dexbridge.console.web.refusals import Refused
from dexbridge.sessions import AgentSessionClient, SessionError, SessionEvent

__all__ = ["EventStreams", "encode_event", "encode_session_event", "encoded_text"]

_HEARTBEAT_SECONDS: Final = 15.0
_RECONNECT_MILLISECONDS: Final = 1000


class EventStreams:
    """The open event streams of a server.

    Args:
        limit: How many may be open; one more is refused with 503.
    """

    def __init__(self, limit: int = 200) -> None:
        self._limit = limit
        self._open = 0
        self._stopping = asyncio.Event()

    @property
    def open(self) -> int:
        """How many are open."""
        return self._open

    def stop(self) -> None:
        """Ends every stream; the browsers come back by themselves."""
        self._stopping.set()

    def respond(self, messages: AsyncIterator[bytes], *beside: AsyncIterator[bytes]) -> Response:
        """The answer that sends encoded events as they come, and a comment when none has come for 15 seconds.

        Args:
            messages: The stream ends with it.
            beside: Sent too while it lasts; its end, also in an error of the session's, ends nothing.

        Raises:
            Refused: 503 when too many are open or the server stops.
        """
        if self._open >= self._limit or self._stopping.is_set():
            raise Refused(503, [("stream", "Too many event streams are open.")], {"Retry-After": "5"})
        return StreamingResponse(
            self._stream([messages, *beside]), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )

    async def _stream(self, sources: Sequence[AsyncIterator[bytes]]) -> AsyncGenerator[bytes]:
        self._open += 1
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
            self._open -= 1
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
