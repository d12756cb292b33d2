"""HttpConnection: what the connections of all Connectors over HTTP have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import Generic, TypeVar

from dexbridge.connectors.contract.binding import SETTLING_TIME
from dexbridge.connectors.contract.project import ConnectionReference, ProjectConnection
from dexbridge.connectors.http.api import HttpApi
from dexbridge.connectors.http.configuration import HttpConfiguration
from dexbridge.connectors.http.pool import HTTP_TIMEOUT

Settings = TypeVar("Settings", bound=HttpConfiguration)
Api = TypeVar("Api", bound=HttpApi)


class HttpConnection(ABC, Generic[Settings, Api]):
    """One account at a provider. A Connector adds a method for each operation; applications take it from a project.

    Args:
        connection: the project's connection; credentials are read from it at each call.
        http_timeout: of one HTTP request, connecting included.
        settling_time: how long after a request's end the provider may still need to show its effect to a reader.

    Raises:
        InvalidConfiguration: the configuration has faults.
    """

    def __init__(
        self,
        connection: ProjectConnection,
        *,
        http_timeout: timedelta = HTTP_TIMEOUT,
        settling_time: timedelta = SETTLING_TIME,
    ) -> None:
        self._connection = connection
        self._settling_time = settling_time
        self._configuration, self._api = self._open(connection, http_timeout)
        connection.on_close(self.close)

    @abstractmethod
    def _open(self, connection: ProjectConnection, http_timeout: timedelta) -> tuple[Settings, Api]:
        """The connection's configuration, checked, and the API its operations ask."""

    @property
    def reference(self) -> ConnectionReference:
        """Which connection this is."""
        return self._connection.reference

    def __repr__(self) -> str:
        return f"<{self.reference.connector_id}.Connection {self.reference}>"

    async def close(self) -> None:
        """Closes the HTTP connections; the project does this too. A later call opens new ones."""
        await self._api.close()
