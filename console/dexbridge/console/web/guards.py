"""What stands before every route: which requests it takes at all, and the headers of every answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dexbridge.console.web.refusals import Refused, refusal

__all__ = ["LOOPBACK_HOSTS", "SECURITY_HEADERS", "Guard", "host_name"]

_MOST_HEADERS: Final = 100
_LONGEST_QUERY: Final = 8 * 1024
# Source: RFC 9110, "Host and :authority": a name or an address, and a port; nothing else, such as a user, is in it.
_HOST: Final = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{0,5})?")

LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "::1")

SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}
_CLOSE: Final[Mapping[str, str]] = {"Connection": "close"}


class Guard:
    """ASGI middleware.

    Args:
        app: What it guards.
        allowed_hosts: Names the Host header may have, without a port. A name that is not listed is refused, so that
            a page elsewhere cannot point its own name at this server (DNS rebinding).
        headers: Set on every answer that does not set them itself.
    """

    def __init__(
        self,
        app: ASGIApp,
        allowed_hosts: Sequence[str] = LOOPBACK_HOSTS,
        headers: Mapping[str, str] = SECURITY_HEADERS,
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.strip("[]").rstrip(".").lower() for host in allowed_hosts)
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope)
        except Refused as refused:
            await refusal(refused)(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    def _check(self, scope: Scope) -> None:
        """Raises Refused for a request that no route takes."""
        headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        names = [name for name, _ in headers]
        # Closed with each of them: where such a request ends is not told alike by all that read it.
        if len(names) > _MOST_HEADERS:
            said = f"The request has {len(names):,} headers, and {_MOST_HEADERS} are the most."
            raise Refused(431, [("headers", said)], _CLOSE)
        if b"content-length" in names and b"transfer-encoding" in names:
            said = "The body's length is given twice, by Content-Length and by Transfer-Encoding: send one."
            raise Refused(400, [("headers", said)], _CLOSE)
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        host = host_name(hosts[0]) if len(hosts) == 1 else None
        if host is None:
            said = "The request must have one Host header: a name, and perhaps a port."
            raise Refused(400, [("host", said)], _CLOSE)
        if host not in self._hosts:
            raise Refused(421, [("host", "This server does not answer to that name: add it to its allowed hosts.")])
        if len(scope["query_string"]) > _LONGEST_QUERY:
            raise Refused(414, [("query", f"The query is longer than {_LONGEST_QUERY:,} bytes: shorten it.")])


def host_name(header: str) -> str | None:
    """The name in a Host header, without the port; `None` when it is not of that form."""
    found = _HOST.fullmatch(header)
    return None if found is None else (found["address"] or found["name"]).rstrip(".").lower()
