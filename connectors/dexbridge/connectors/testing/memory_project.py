"""A project that lives in memory: connections for tests, without a connection file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from dexbridge.connectors.contract.errors import CredentialsUnavailable, UnknownConnection
from dexbridge.connectors.contract.project import ConnectionReference
from dexbridge.connectors.contract.secrets.secret import Secret


class MemoryConnection:
    """A connection whose configuration and credentials a test sets.

    Args:
        connector_id: such as `slack`.
        connection_name: such as `support-slack`.
        configuration: as in the connection file.
        credentials: plain values; change the mapping to rotate one.
    """

    def __init__(
        self,
        connector_id: str,
        connection_name: str,
        *,
        configuration: Mapping[str, Any] | None = None,
        credentials: Mapping[str, str] | None = None,
    ) -> None:
        self.reference = ConnectionReference(connector_id, connection_name)
        self.configuration: Mapping[str, Any] = dict(configuration or {})
        self.unavailable: str | None = None
        """When set, reading the credentials fails with this message."""
        self.times_read = 0
        self._credentials = {name: Secret(value) for name, value in (credentials or {}).items()}
        self._closers: list[Callable[[], Awaitable[None]]] = []

    def set_credential(self, name: str, value: str | None) -> None:
        """Rotates a credential, or takes it away."""
        self._credentials.pop(name, None)
        if value is not None:
            self._credentials[name] = Secret(value)

    async def read_credentials(self) -> Mapping[str, Secret]:
        """The credentials of this moment."""
        self.times_read += 1
        if self.unavailable is not None:
            raise CredentialsUnavailable(self.unavailable)
        return dict(self._credentials)

    def on_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Keeps `close` for `aclose`."""
        self._closers.append(close)

    async def aclose(self) -> None:
        """Closes what was made of this connection."""
        closers, self._closers = self._closers, []
        for close in closers:
            await close()


class MemoryProject:
    """Connections by name, as a project gives them."""

    def __init__(self, *connections: MemoryConnection) -> None:
        self._connections = {connection.reference: connection for connection in connections}

    def connection(self, connector_id: str, connection_name: str) -> MemoryConnection:
        """The connection of that name."""
        reference = ConnectionReference(connector_id, connection_name)
        if reference not in self._connections:
            raise UnknownConnection(f"The project has no connection {reference}.")
        return self._connections[reference]

    async def close(self) -> None:
        """Closes every connection."""
        for connection in self._connections.values():
            await connection.aclose()
