"""Project: an opened connection file, the place connections are taken from."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self

from dexbridge.config.checking.inspection import InspectedConnection, Inspection, inspect_file
from dexbridge.config.errors import ConfigurationDefect, InvalidConnectionFile, ProjectClosed
from dexbridge.config.reading.private_file import Identity, identity_of
from dexbridge.config.sealing import Sealed
from dexbridge.config.telling.diagnostic import Diagnostic
from dexbridge.config.telling.finding import quoted
from dexbridge.connectors import (
    ConnectionReference,
    ConnectorDefinition,
    CredentialsUnavailable,
    Secret,
    UnknownConnection,
)

_SHOWN_FAULTS: Final = 5


@dataclass(frozen=True, slots=True)
class _Cached:
    """Credentials, and what proves that reading them again would give the same."""

    path: str
    identity: Identity
    files: tuple[tuple[str, Identity], ...]
    variables: tuple[tuple[str, Secret], ...]
    expires_at: datetime | None
    credentials: Mapping[str, Secret]

    def holds(self, environment: Sealed[Mapping[str, str]]) -> bool:
        """Whether no file and no variable has changed; one stat for each file."""
        if identity_of(self.path) != self.identity:
            return False
        for path, identity in self.files:
            if identity_of(path) != identity:
                return False
        return not self.variables or self._same_variables(environment.open())

    def _same_variables(self, environment: Mapping[str, str]) -> bool:
        return all(secret.reveal() == environment.get(name) for name, secret in self.variables)


class OpenedConnection:
    """One connection of an opened project; a `dexbridge.connectors.ProjectConnection`."""

    def __init__(self, project: Project, opened: InspectedConnection) -> None:
        self._project = project
        self._reference = opened.reference
        self.index = opened.index
        """Where it stood in the file when the project was opened."""
        self._configuration = copy.deepcopy(opened.configuration)
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self._cached: _Cached | None = None
        self.credential_names: frozenset[str] = frozenset(opened.credentials.secrets)
        """Which credentials it had when the project was opened."""

    @property
    def reference(self) -> ConnectionReference:
        """Which connection this is."""
        return self._reference

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The configuration as it was when the project was opened; a copy, so nobody changes it for others."""
        return copy.deepcopy(self._configuration)

    async def read_credentials(self) -> Mapping[str, Secret]:
        """The credentials of this moment.

        The file's kind, owner and mode, its form, and this connection's record are checked as when the project was
        opened; faults of other connections do not count. An unchanged file, told by its identity, is not read
        again.

        Raises:
            CredentialsUnavailable: they cannot be used now; a later call works once the file is mended.
        """
        if self._project.closed:
            raise CredentialsUnavailable(f"The project of {self._reference} is closed; open it again.")
        cached = self._cached
        if cached is None or not cached.holds(self._project.environment):
            cached = self._read()
        if cached.expires_at is not None and datetime.now(UTC) >= cached.expires_at:
            raise CredentialsUnavailable(
                f"The credentials of {self._reference} expired at {cached.expires_at.isoformat()}. "
                f"Put new ones into {self._project.path}; no restart is needed."
            )
        return cached.credentials

    def _read(self) -> _Cached:
        self._cached = None
        path = self._project.path
        try:
            inspection = inspect_file(path, self._project.environment, self._project.connectors, only=self._reference)
        except ConfigurationDefect as defect:
            raise CredentialsUnavailable(f"The credentials of {self._reference} cannot be read. {defect}") from None
        if inspection.errors:
            shown = " | ".join(str(error) for error in inspection.errors[:_SHOWN_FAULTS])
            raise CredentialsUnavailable(f"The credentials of {self._reference} cannot be read. {shown}")
        if not inspection.connections:
            raise CredentialsUnavailable(
                f"{path} no longer has the connection {self._reference}. Add it again; no restart is needed."
            )
        (found,) = inspection.connections
        if found.reauthorization_required:
            raise CredentialsUnavailable(
                f"The credentials of {self._reference} have to be authorized again. Sign in to the provider again, "
                f"then clear credentialStatus in {path}; no restart is needed."
            )
        return self._remember(inspection, found)

    def _remember(self, inspection: Inspection, found: InspectedConnection) -> _Cached:
        files = tuple((name, one) for name, one in found.credentials.files.items() if one is not None)
        cached = _Cached(
            inspection.path,
            inspection.identity or Identity(0, 0, 0, 0, 0, 0, 0),
            files,
            tuple(found.credentials.variables.items()),
            found.expires_at,
            dict(found.credentials.secrets),
        )
        if inspection.identity is not None and len(files) == len(found.credentials.files):
            self._cached = cached
        return cached

    def on_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Has `close` awaited when the project is closed, the last registered first."""
        self._closers.append(close)

    async def close(self) -> list[Exception]:
        """Awaits what was registered; returns what failed, so that the others are closed too."""
        failures: list[Exception] = []
        while self._closers:
            try:
                await self._closers.pop()()
            except Exception as error:  # noqa: BLE001  (raised together by Project.close)
                failures.append(error)
        return failures

    def __repr__(self) -> str:
        return f"<connection {self._reference}>"


class Project:
    """An opened connection file; a `dexbridge.connectors.ConnectionProject`.

    Opened by `load_from_environment` or `open_project`. Configuration is read once, credentials at every call. Use
    it with `async with`, or call `close`, which also closes the connections that were taken from it.
    """

    def __init__(
        self,
        inspection: Inspection,
        environment: Sealed[Mapping[str, str]],
        connectors: Mapping[str, ConnectorDefinition],
    ) -> None:
        self.path = inspection.path
        self.environment = environment
        self.connectors = connectors
        self.closed = False
        self.warnings: tuple[Diagnostic, ...] = inspection.diagnostics
        """What is wrong and does not refuse the file, in file order."""
        self._connections = {one.reference: OpenedConnection(self, one) for one in inspection.connections}

    @property
    def references(self) -> tuple[ConnectionReference, ...]:
        """Every connection, in file order."""
        return tuple(self._connections)

    def connection(self, connector_id: str, connection_name: str) -> OpenedConnection:
        """The connection of that name.

        Raises:
            UnknownConnection: the file has none of that name; the message lists those of that Connector.
            ProjectClosed: the project was closed.
        """
        if self.closed:
            raise ProjectClosed(f"The project of {self.path} is closed; open it again.")
        found = self._connections.get(ConnectionReference(connector_id, connection_name))
        if found is not None:
            return found
        known = [str(one) for one in self._connections if one.connector_id == connector_id]
        there = f"It has {', '.join(known)}." if known else f"It has no connection of {quoted(connector_id)}."
        raise UnknownConnection(
            f"{self.path} has no connection {connector_id}/{connection_name}. {there} Add the connection to the file."
        )

    async def close(self) -> None:
        """Closes every connection that was taken from the project. Closing twice does nothing.

        Raises:
            ExceptionGroup: what connections raised; all of them were closed nevertheless.
        """
        self.closed = True
        failures: list[Exception] = []
        for connection in reversed(self._connections.values()):
            failures += await connection.close()
        if failures:
            raise ExceptionGroup(f"Connections of {self.path} could not be closed.", failures)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<project {self.path}>"


def opened(
    inspection: Inspection,
    environment: Sealed[Mapping[str, str]],
    connectors: Mapping[str, ConnectorDefinition],
) -> Project:
    """The project of an inspected file.

    Raises:
        InvalidConnectionFile: it has faults.
    """
    if inspection.errors:
        raise InvalidConnectionFile(inspection.path, inspection.diagnostics)
    return Project(inspection, environment, connectors)
