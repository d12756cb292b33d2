"""Asks providers whether connections work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dexbridge.config.codes import Code, Severity
from dexbridge.config.diagnostic import Diagnostic
from dexbridge.config.project import OpenedConnection, Project
from dexbridge.connectors import ConnectionReference, ConnectorDefinition, LiveCheck, Operation


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
        failure = f"No answer within {deadline:g} s."
    except Exception as error:  # noqa: BLE001  (a Connector that breaks its promise must not hide the others)
        failure = f"The check of the Connector itself failed ({type(error).__name__})."
    return LiveResult(reference, None, failure)


def _diagnostics(
    project: Project,
    connection: OpenedConnection,
    definition: ConnectorDefinition,
    result: LiveResult,
    offered: Mapping[ConnectionReference, Sequence[Operation]] | None,
) -> Iterable[Diagnostic]:
    reference = connection.reference
    if result.check is None or not result.check.ok:
        yield Diagnostic(
            Severity.ERROR,
            Code.LIVE_CHECK,
            project.path,
            None,
            "",
            str(reference),
            f"The provider refused {reference}, or did not answer: {result.message}",
            "Check the credential, the endpoint and the network, then run this again.",
        )
        return
    if offered is None:
        severity = Severity.WARNING
        operations = [one for one in definition.operations if one.exposed_to_agents]
    else:
        severity = Severity.ERROR
        operations = list(offered.get(reference, ()))
    for operation in operations:
        for credential in operation.credentials:
            if credential not in connection.credential_names or credential not in result.check.scopes:
                continue
            missing = sorted({*operation.scopes.get(credential, ())} - {*result.check.scopes[credential]})
            if missing:
                yield Diagnostic(
                    severity,
                    Code.LIVE_SCOPE,
                    project.path,
                    None,
                    "",
                    str(reference),
                    f"The {credential} of {reference} lacks {', '.join(missing)}, "
                    f"which {operation.operation_id} needs.",
                    f"Grant {', '.join(missing)} to the app, install it again, and put the new {credential} there.",
                )
