"""Serving an ASGI application: where it may listen, and how it stops."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from dexbridge.console.signals import not_ignored
from dexbridge.console.web.connections import LONGEST_HEAD, BoundedConnection
from dexbridge.console.web.guards import LOOPBACK_HOSTS
from dexbridge.console.web.streams import EventStreams

__all__ = ["UnsafeBind", "allowed_hosts_of", "check_bind", "is_loopback", "serve"]

_SHORTEST_PUBLIC_KEY: Final = 16
_STOP_SECONDS: Final = 5


class UnsafeBind(ValueError):
    """The server would be reachable from elsewhere without what that needs."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_bind(host: str, keys: Mapping[str, str | None], allowed_hosts: Sequence[str]) -> None:
    """Passes when the address is this machine's own, or everything a public one needs is there.

    Args:
        host: The address to listen on.
        keys: Name of the variable and its value, for every key that was set on purpose.
        allowed_hosts: Names beside the loopback's.

    Raises:
        UnsafeBind: names what is missing.
    """
    if is_loopback(host):
        return
    for name, value in keys.items():
        if value is None or len(value) < _SHORTEST_PUBLIC_KEY:
            raise UnsafeBind(
                f"{host} can be reached from other machines, so {name} must be set, to a random text of at least "
                f"{_SHORTEST_PUBLIC_KEY} characters: python -c 'import secrets; print(secrets.token_urlsafe(32))'."
            )
    if not allowed_hosts:
        raise UnsafeBind(
            f"{host} can be reached from other machines: name the host names it answers to with --allow-host."
        )


def allowed_hosts_of(more: Sequence[str]) -> tuple[str, ...]:
    """The host names a server answers to."""
    return (*LOOPBACK_HOSTS, *more)


async def serve(
    app: ASGIApp, *, host: str, port: int, streams: EventStreams, ready: Callable[[str], None] = lambda _url: None
) -> None:
    """Serves until SIGINT or SIGTERM; one that was ignored at the start stays ignored.

    Args:
        app: The application.
        host: The address to listen on; see `check_bind`.
        port: 0 takes a free one.
        streams: Ended when the server stops.
        ready: Called with the address once it listens.

    Raises:
        OSError: the address is taken or not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, since asyncio turns Nagle's delay off only for sockets that name it.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host.strip("[]"), port))
        except OSError as error:
            raise OSError(
                error.errno, f"{host}:{port} cannot be listened on ({error.strerror}): choose another address or port"
            ) from None
        listening.listen(128)
        listening.setblocking(False)
        bound_port: int = listening.getsockname()[1]
        config = uvicorn.Config(
            app,
            log_level="warning",
            # Access lines would hold session IDs of others' conversations, and nothing reads them.
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            http=BoundedConnection,
            h11_max_incomplete_event_size=LONGEST_HEAD,
            ws="none",
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        shown = f"[{host.strip('[]')}]" if family is socket.AF_INET6 else host
        server = _Server(config, streams, lambda: ready(f"http://{shown}:{bound_port}"))
        await server.serve(sockets=[listening])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, streams: EventStreams, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._streams = streams
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        # uvicorn raises the signal again at the end, which would end the process before the engine is closed.
        loop = asyncio.get_running_loop()
        signals = not_ignored(signal.SIGINT, signal.SIGTERM)
        for one in signals:
            loop.add_signal_handler(one, self._exit)
        try:
            yield
        finally:
            for one in signals:
                loop.remove_signal_handler(one)

    def _exit(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.stop()
        await super().shutdown(sockets=sockets)
