"""One connection of the server: what it may send at once, and how long it may take.

uvicorn bounds none of it: the first byte of a request may never come, the rest of its head neither.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from dexbridge.console.web.guards import SECURITY_HEADERS
from dexbridge.console.web.refusals import Refused, refusal

__all__ = ["LONGEST_HEAD", "BoundedConnection"]

LONGEST_HEAD: Final = 16 * 1024
"""Bytes of a request's first line and headers."""

_READ_AT_ONCE: Final = 8 * 1024
_LINGER_SECONDS: Final = 2.0


class BoundedConnection(H11Protocol, asyncio.BufferedProtocol):
    """uvicorn's connection, which is closed when the other side takes too long.

    - A request's head must have come within 10 s of the connection's or its own first byte: 408.
    - What is left of a body that was not read must have come within 10 s of the answer.
    - An answer must be read: after 30 s without any progress nobody does.
    - Bytes are taken 8 KiB at a time, so that many small headers or chunks do not hold the loop.
    """

    owed_seconds: ClassVar[float] = 10.0
    unread_seconds: ClassVar[float] = 30.0

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._taken = bytearray(_READ_AT_ONCE)
        self._refused = False
        self._owed: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def get_buffer(self, sizehint: int) -> bytearray:
        del sizehint
        return self._taken

    def buffer_updated(self, nbytes: int) -> None:
        if not self._refused:
            self.data_received(bytes(self._taken[:nbytes]))
            self._watch()

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's own
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._owed = _cancel(self._owed)
        self._unread = _cancel(self._unread)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY or self._is_answering:
            self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self._unread or self.loop.call_later(self.unread_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread = _cancel(self._unread)

    def send_400_response(self, msg: str) -> None:
        if len(self.conn.trailing_data[0]) > LONGEST_HEAD:
            said = f"The request's first line and headers are longer than {LONGEST_HEAD:,} bytes: shorten them."
            self._refuse(Refused(431, [("headers", said)]))
        else:
            self._refuse(Refused(400, [("request", msg)]))

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def _watch(self) -> None:
        """Waits for the other side while it owes something; while it is answered, the application sees to that."""
        if self._is_answering:
            self._owed = _cancel(self._owed)
        elif self._owed is None and not self._refused and not self.transport.is_closing():
            self._owed = self.loop.call_later(self.owed_seconds, self._give_up)

    def _give_up(self) -> None:
        self._owed = None
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            late = f"The request's headers had not come within {self.owed_seconds:g} s: send it again."
            self._refuse(Refused(408, [("headers", late)]))
        else:
            self.transport.close()

    def _refuse(self, refused: Refused) -> None:
        """Says why, where an answer can still begin, and closes."""
        self._refused = True
        self._owed = _cancel(self._owed)
        if self._is_answering:
            # The application, which still reads the body, must not answer too.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = refusal(refused)
            more = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
            headers = [*answer.raw_headers, *more, (b"connection", b"close")]
            for event in (
                h11.Response(status_code=refused.status, headers=headers, reason=STATUS_PHRASES[refused.status]),
                h11.Data(data=bytes(answer.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
            # Closing with bytes unread would take the answer from who still sends; they are thrown away for a moment.
            self.transport.write_eof()
            self._owed = self.loop.call_later(_LINGER_SECONDS, self.transport.close)
        else:
            self.transport.close()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
