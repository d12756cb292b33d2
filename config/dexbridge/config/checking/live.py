"""Asks providers whether connections work."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dexbridge.config.checking.scopes import scopes_needed
from dexbridge.config.project import OpenedConnection, Project
from dexbridge.config.telling.codes import Code, Severity
from dexbridge.config.telling.diagnostic import Diagnostic
from dexbridge.config.telling.finding import Path, pointer
from dexbridge.config.telling.pinpoint import place_of
from dexbridge.connectors import ConnectionReference, ConnectorDefinition, LiveCheck, Operation

_NO_ANSWER: Final = "No answer"
_NOT_REACHED: Final = "No connection to "  # the sentence of dexbridge.connectors.NotConnected


@dataclass(frozen=True)
class LiveResult:
    """What a provider said of one connection.

    Args:
        reference: the connection.
        check: the Connector's words; None when it did not answer in time or could not be asked.
        message: for people.
    """

    reference: ConnectionReference
    check: LiveCheck | None
    message: str

    def to_json(self) -> dict[str, Any]:
        """The shape documented in docs/configuration.md."""
        check = self.check
        return {
            "connection": str(self.reference),
            "ok": check is not None and check.ok,
            "account": check.account if check else "",
            "scopes": {name: list(scopes) for name, scopes in check.scopes.items()} if check else {},
            "message": self.message,
        }


async def check_live(
    project: Project,
    *,
    deadline: float,
    offered: Mapping[ConnectionReference, Sequence[Operation]] | None = None,
    progress: Callable[[LiveResult], None] | None = None,
) -> tuple[tuple[LiveResult, ...], tuple[Diagnostic, ...]]:
    """Makes each Connector's cheapest authenticated call, all connections at the same time.

    Args:
        project: opened.
        deadline: seconds for all of them together.
        offered: the operations each connection is to serve; a scope one of them lacks is an error. Without it,
            scopes that the operations a Connector exposes to agents would lack are warnings.
        progress: told each result as it comes.
    """
    asked = [
        (project.connection(one.connector_id, one.connection_name), project.connectors[one.connector_id])
        for one in project.references
        if one.connector_id in project.connectors
    ]
    end = asyncio.get_running_loop().time() + deadline

    async def ask(connection: OpenedConnection, definition: ConnectorDefinition) -> LiveResult:
        result = await _ask(connection, definition, end, deadline)
        if progress is not None:
            progress(result)
        return result

    results = await asyncio.gather(*(ask(connection, definition) for connection, definition in asked))
    diagnostics: list[Diagnostic] = []
    for result, (connection, definition) in zip(results, asked, strict=True):
        diagnostics += _diagnostics(project, connection, definition, result, offered)
    return tuple(results), tuple(diagnostics)


async def _ask(
    connection: OpenedConnection, definition: ConnectorDefinition, end: float, deadline: float
) -> LiveResult:
    reference = connection.reference
    failure = ""
    try:
        async with asyncio.timeout_at(end):
            check = await definition.check_live(connection)
            return LiveResult(reference, check, check.message)
    except TimeoutError:
        failure = f"{_NO_ANSWER} within {deadline:g} s."
    except Exception as error:  # noqa: BLE001  (a Connector that breaks its promise must not hide the others)
        failure = f"The check of the Connector itself failed ({type(error).__name__})."
    return LiveResult(reference, None, failure)


def _refusals(
    project: Project, connection: OpenedConnection, definition: ConnectorDefinition, result: LiveResult
) -> Iterable[Diagnostic]:
    reference = connection.reference
    # By its contract a check names each credential the provider does not accept, before what the provider says of it.
    said = result.message
    refused = [
        credential.name
        for credential in definition.credentials
        if credential.name in connection.credential_names
        and re.search(rf"(?:^|; ){re.escape(credential.name)}: ", said)
    ]
    if result.check is None:
        message = f"{reference} was not checked: {said}"
        if said.startswith(_NO_ANSWER):
            mend = "Check the endpoint and the network, or give more time with --deadline."
        else:
            mend = "Report this to the Connector's author."
    elif _NOT_REACHED in said:
        message = f"The provider of {reference} was not reached: {said}"
        mend = "Check the endpoint in its configuration and the network; its credentials were not judged."
        refused = []
    elif refused:
        message = f"The provider does not accept {' and '.join(refused)} of {reference}: {said}"
        mend = f"Put a current {' and '.join(refused)} there, and run this again."
    else:
        message = f"The check of {reference} failed: {said}"
        mend = "Mend what is named here, or try again later when the provider itself is at fault."
    for credential in refused[:1] or [""]:
        yield _diagnostic(project, connection, (Severity.ERROR, Code.LIVE_CHECK, credential), message, mend)


def _diagnostic(
    project: Project, connection: OpenedConnection, about: tuple[Severity, Code, str], message: str, mend: str
) -> Diagnostic:
    severity, code, credential = about
    record: Path = ("connections", connection.index)
    member: Path = (*record, "credentials", credential) if credential else (*record, "connectionName")
    place = place_of(project.path, member)
    return Diagnostic(severity, code, project.path, place, pointer(member), str(connection.reference), message, mend)


def _diagnostics(
    project: Project,
    connection: OpenedConnection,
    definition: ConnectorDefinition,
    result: LiveResult,
    offered: Mapping[ConnectionReference, Sequence[Operation]] | None,
) -> Iterable[Diagnostic]:
    reference = connection.reference
    if result.check is None or not result.check.ok:
        yield from _refusals(project, connection, definition, result)
        return
    if offered is None:
        severity = Severity.WARNING
        operations = [one for one in definition.operations if one.exposed_to_agents]
    else:
        severity = Severity.ERROR
        operations = list(offered.get(reference, ()))
    for operation in operations:
        for lacking in scopes_needed(operation, connection.credential_names, result.check.scopes):
            missing = ", ".join(lacking.scopes)
            lacks = f"The {lacking.credential} of {reference} lacks {missing}, "
            yield _diagnostic(
                project,
                connection,
                (Severity.WARNING if lacking.is_look_up else severity, Code.LIVE_SCOPE, lacking.credential),
                lacks
                + (
                    f"so whether an unclear {operation.operation_id} was carried out cannot be looked up: it stays "
                    "unknown."
                    if lacking.is_look_up
                    else f"which {operation.operation_id} needs."
                ),
                f"Grant {missing} to the app, install it again, and put the new {lacking.credential} there.",
            )
