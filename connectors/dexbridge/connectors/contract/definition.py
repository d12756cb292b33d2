"""ConnectorDefinition: what a Connector tells the rooms that list and check it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from dexbridge.connectors.contract.call import CONNECTOR_ID_PATTERN
from dexbridge.connectors.contract.errors import InvalidOperation
from dexbridge.connectors.contract.operation import Operation
from dexbridge.connectors.contract.project import ProjectConnection


@dataclass(frozen=True)
class CredentialField:
    """One credential a connection can hold.

    Args:
        name: as in the connection file, such as `bot_token`.
        title: a few words for people.
        pattern: a regular expression the whole value must match; None accepts any one-line value.
        hint: what a right value looks like and where to get it; shown instead of a wrong value.
        required: a connection without it is incomplete.
    """

    name: str
    title: str
    pattern: str | None
    hint: str
    required: bool = False


def _no_scopes() -> Mapping[str, tuple[str, ...]]:
    return {}


@dataclass(frozen=True)
class LiveCheck:
    """What the provider says about a connection's credentials.

    Args:
        ok: every credential that was tried works.
        account: whom they belong to, for people; empty when unknown.
        scopes: the scopes the provider names for each credential.
        message: what is wrong and what to do, or a line that says all is well.
    """

    ok: bool
    account: str = ""
    scopes: Mapping[str, tuple[str, ...]] = field(default_factory=_no_scopes)
    message: str = ""


@dataclass(frozen=True)
class ConnectorDefinition:
    """A Connector as others see it: configuration, credentials, operations and a live check.

    Args:
        connector_id: as in its operations and in the connection file.
        title: the provider's name for people.
        configuration: a strict model with the connection file's camelCase names as aliases; its errors
            never echo a value.
        credentials: every credential a connection may hold.
        operations: every operation.
        check_live: the cheapest authenticated call, for `config check`; it raises nothing but cancellation.
    """

    connector_id: str
    title: str
    configuration: type[BaseModel]
    credentials: tuple[CredentialField, ...]
    operations: tuple[Operation, ...]
    check_live: Callable[[ProjectConnection], Awaitable[LiveCheck]]

    def __post_init__(self) -> None:
        if not CONNECTOR_ID_PATTERN.fullmatch(self.connector_id):
            raise InvalidOperation(f"Connector ID {self.connector_id!r} must match {CONNECTOR_ID_PATTERN.pattern}.")
        names = {credential.name for credential in self.credentials}
        ids = [operation.operation_id for operation in self.operations]
        if len(set(ids)) != len(ids):
            raise InvalidOperation(
                f"Connector {self.connector_id!r} lists an operation ID twice; each names one operation."
            )
        for operation in self.operations:
            if operation.connector_id != self.connector_id:
                raise InvalidOperation(
                    f"Connector {self.connector_id!r} lists {operation.operation_id!r}, "
                    f"which says it belongs to {operation.connector_id!r}; give both the same connector_id."
                )
            missing = {*operation.credentials, *operation.reconcile_credentials} - names
            if missing:
                raise InvalidOperation(
                    f"Operation {operation.operation_id!r} of {self.connector_id!r} needs the credentials "
                    f"{sorted(missing)}, which the Connector does not declare; add a CredentialField for each."
                )

    def operation(self, operation_id: str) -> Operation:
        """The operation of that ID.

        Raises:
            LookupError: the Connector has none of that ID.
        """
        for operation in self.operations:
            if operation.operation_id == operation_id:
                return operation
        raise LookupError(f"Connector {self.connector_id!r} has no operation {operation_id!r}.")
