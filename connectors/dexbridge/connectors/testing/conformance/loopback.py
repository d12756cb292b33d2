"""An event loop that reaches this machine only, so that no check ever asks a real provider."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

from dexbridge.connectors.http.proxies import LOOPBACK_HOSTS


class LoopbackLoop(asyncio.SelectorEventLoop):
    """Resolves and connects to no other machine; `refused` names the hosts that were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[str] = []

    async def getaddrinfo(self, host: Any, port: Any, **more: Any) -> Any:
        """As in asyncio, for this machine only."""
        self._check(host)
        return await super().getaddrinfo(host, port, **more)

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """As in asyncio, for this machine only."""
        if not isinstance(address, str | bytes):  # those are sockets of this machine
            self._check(address[0])
        await super().sock_connect(sock, address)

    def _check(self, host: Any) -> None:
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None and not _is_here(str(name)):
            self.refused.append(str(name))
            raise OSError(f"The suite does not reach {name}.")


def _is_here(host: str) -> bool:
    if host in LOOPBACK_HOSTS:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
