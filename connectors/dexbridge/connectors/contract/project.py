"""What a project gives a Connector. `dexbridge.config.Project` implements these Protocols."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from dexbridge.connectors.contract.secrets.secret import Secret


@dataclass(frozen=True, order=True)
class ConnectionReference:
    """The name of a connection: a Connector bound to one account. `str` gives `slack/support-slack`."""

    connector_id: str
    connection_name: str

    def __str__(self) -> str:
        return f"{self.connector_id}/{self.connection_name}"


class ProjectConnection(Protocol):
    """One connection of an opened project."""

    @property
    def reference(self) -> ConnectionReference:
        """Which connection this is."""
        ...

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The connection's configuration as it was when the project was opened."""
        ...

    async def read_credentials(self) -> Mapping[str, Secret]:
        """The credentials of this moment, read and validated again at each call.

        Raises:
            CredentialsUnavailable: they cannot be used now; the message is for the operator.
        """
        ...

    def on_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Has `close` awaited when the project is closed."""
        ...


class ConnectionProject(Protocol):
    """Where connections are taken from."""

    def connection(self, connector_id: str, connection_name: str) -> ProjectConnection:
        """The connection of that name.

        Raises:
            UnknownConnection: the project has none of that name.
        """
        ...
