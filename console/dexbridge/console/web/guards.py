"""What stands before every route: which hosts it answers to, and the headers of every answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dexbridge.console.web.refusals import Refused, refusal

__all__ = ["LOOPBACK_HOSTS", "SECURITY_HEADERS", "Guard", "host_name"]

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

        if host_name(Headers(scope=scope).get("host", "")) not in self._hosts:
            unknown = Refused(421, [("host", "This server does not answer to that name: add it to its allowed hosts.")])
            await refusal(unknown)(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)


def host_name(header: str) -> str:
    """The name in a Host header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].rstrip(".").lower()
