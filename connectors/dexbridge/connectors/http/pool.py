"""HttpPool: one connection's HTTP, where each call is one request and it is known whether it left.

aiohttp is imported when the first request is made, so operations can be built and offered without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel

from dexbridge.connectors.contract.errors import ConnectorError, NoAnswer, NotConnected, SecondRequest
from dexbridge.connectors.http.json_body import read_json
from dexbridge.connectors.http.proxies import proxy_for
from dexbridge.connectors.http.retry_after import parse_http_date, parse_retry_after

if TYPE_CHECKING:
    import aiohttp

Payload = TypeVar("Payload", bound=BaseModel)

HTTP_TIMEOUT: Final = timedelta(seconds=10)
MAX_BODY_BYTES: Final = 4_194_304

_KEEP_ALIVE: Final = timedelta(seconds=15)
"""Short, because a request on a connection the provider just closed is uncertain for nothing."""

_CONNECTIONS: Final = 20


@dataclass(frozen=True)
class HttpAnswer:
    """One answer: status, headers with lower-case names, and as much of the body as was wanted.

    `body_fault` says why the body is not whole: "too large" or "cut off".
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    body_fault: str = ""

    @property
    def retry_after(self) -> timedelta | None:
        """The wait the Retry-After header asks for; see `parse_retry_after`."""
        return parse_retry_after(self.headers.get("retry-after"))

    @property
    def clock(self) -> datetime | None:
        """The provider's own time, from the Date header."""
        return parse_http_date(self.headers.get("date"))

    def read(self, model: type[Payload]) -> Payload | None:
        """The body as a model; None when it is not whole, not JSON as `read_json` takes it, or not of that shape."""
        if self.body_fault:
            return None
        try:
            read_json(self.body)
            return model.model_validate_json(self.body)
        except ValueError:  # a ValidationError is one, too
            return None


@dataclass(frozen=True)
class Leave:
    """Permission to send: `take` right before the bytes leave, `check` again as late as the client allows.

    Both raise NeverSent to stop the request. A `send` function gives the dispatch's own, `dispatch.leave`.
    """

    take: Callable[[], None]
    check: Callable[[], None]


def _always() -> None:
    return None


ANY_TIME: Final = Leave(take=_always, check=_always)
"""For requests that are not a dispatch: the reads of `reconcile` and of a live check."""


@dataclass
class _Passage:
    """What the trace hooks of one request know."""

    leave: Leave
    has_left: bool = False
    stopped: ConnectorError | None = None


class HttpPool:
    """The HTTP connections of one provider connection: never a re-sent request, never a followed redirect.

    Proxies are those of the environment; see `proxy_for`.

    Args:
        timeout: from asking for a connection to the last byte of the answer.

    The aiohttp session is made in the running loop of the first request; a request in another loop gets its own.
    """

    def __init__(self, timeout: timedelta = HTTP_TIMEOUT) -> None:
        self._timeout = timeout
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    async def request(
        self,
        verb: str,
        url: str,
        *,
        leave: Leave,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        json: Any = None,
        data: Any = None,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> HttpAnswer:
        """Makes one request and reads a bounded answer.

        Raises:
            NeverSent: `leave` refused, or (NotConnected) no connection came up; nothing was sent.
            NoAnswer: the request left and no answer's headers came.
            ValueError: the request cannot be built; nothing was sent.
        """
        import aiohttp  # noqa: PLC0415

        for name, value in (headers or {}).items():
            # aiohttp would find out only after `leave` was taken, when it writes the headers.
            if any(ord(character) < 0x20 or character == "\x7f" for character in value):
                raise ValueError(f"The header {name} holds a control character.")
        passage = _Passage(leave)
        host = urlsplit(url).hostname or ""
        proxy = proxy_for(url)
        try:
            await self._forget_closed_loops()
            async with self._session().request(
                verb,
                url,
                headers=headers,
                params=params,
                json=json,
                data=data,
                proxy=proxy,
                allow_redirects=False,
                trace_request_ctx=passage,
            ) as response:
                body, fault = await _read_bounded(response, max_body_bytes)
                lower = {name.lower(): value for name, value in response.headers.items()}
                return HttpAnswer(response.status, lower, body, fault)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            stopped, name = passage.stopped, type(error).__name__
        except ConnectorError:
            # Raised by a hook. aiohttp may also wrap it, which ends in the branch above.
            stopped, name = passage.stopped, "ConnectorError"
        # Raised outside of the handlers: the client's exception holds the request, the request its headers.
        if stopped is not None:
            raise stopped
        if not passage.has_left:
            through = "" if proxy is None else " through the proxy the environment names"
            raise NotConnected(f"No connection to {host} came up{through} ({name}); nothing was sent.")
        raise NoAnswer(f"The request reached {host}, but no answer came back ({name}).")

    async def close(self) -> None:
        """Closes every session. Call it in the loop that made the requests."""
        await self._forget_closed_loops()
        sessions, self._sessions = self._sessions, {}
        here = asyncio.get_running_loop()
        for loop, session in sessions.items():
            if loop is here:
                await session.close()
            else:
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(session.close(), loop))

    async def _forget_closed_loops(self) -> None:
        for loop in [loop for loop in self._sessions if loop.is_closed()]:
            with suppress(RuntimeError):  # the sockets of a closed loop went with it
                await self._sessions.pop(loop).close()

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            session = self._sessions[loop] = self._new_session()
        return session

    def _new_session(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415

        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(_before_headers)
        trace.on_request_chunk_sent.append(_before_body)
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=_KEEP_ALIVE.total_seconds()),
            timeout=aiohttp.ClientTimeout(total=self._timeout.total_seconds()),
            cookie_jar=aiohttp.DummyCookieJar(),
            trace_configs=[trace],
        )


# Despite their names, aiohttp awaits both signals before it hands the bytes to the transport: "headers sent" once
# the connection is up, before the headers are serialised, and "chunk sent" before headers and body are written
# together. A process frozen during DNS, connect or TLS is therefore stopped here. What remains is the moment
# between `check` and the socket's send (a few Python instructions), and the kernel's own resending of the segment.


async def _before_headers(
    _session: aiohttp.ClientSession,
    context: SimpleNamespace,
    sent: aiohttp.TraceRequestHeadersSentParams,
) -> None:
    if sent.method == "CONNECT":  # to a proxy, not to the provider
        return
    passage: _Passage = context.trace_request_ctx
    if passage.has_left:
        # aiohttp makes a GET anew when its connection breaks. Refused here, it counts as without an answer.
        raise SecondRequest("The HTTP client tried to send the request again.")
    try:
        passage.leave.take()
    except ConnectorError as error:
        passage.stopped = error
        raise
    passage.has_left = True


async def _before_body(
    _session: aiohttp.ClientSession,
    context: SimpleNamespace,
    _sent: aiohttp.TraceRequestChunkSentParams,
) -> None:
    passage: _Passage = context.trace_request_ctx
    passage.leave.check()


async def _read_bounded(response: aiohttp.ClientResponse, limit: int) -> tuple[bytes, str]:
    import aiohttp  # noqa: PLC0415

    body = bytearray()
    try:
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > limit:
                response.close()
                return b"", "too large"
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return bytes(body), "cut off"
    return bytes(body), ""
