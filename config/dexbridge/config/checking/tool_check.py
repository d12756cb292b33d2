"""Checks offered tools against a project, before the first model call."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from dexbridge.config.checking.scopes import NeededScopes, scopes_needed
from dexbridge.config.errors import InvalidToolOffer
from dexbridge.config.project import Project
from dexbridge.config.telling.codes import Code, Severity
from dexbridge.config.telling.diagnostic import Diagnostic
from dexbridge.connectors import ConnectionReference, Operation, UnknownConnection

_LOG: Final = logging.getLogger("dexbridge.config")


class OfferedOperation(Protocol):
    """An operation of a connection; a `dexbridge.connectors.BoundOperation` is one."""

    @property
    def operation(self) -> Operation:
        """What is called."""
        ...

    @property
    def reference(self) -> ConnectionReference:
        """The connection it is called on."""
        ...


class OfferedTool(Protocol):
    """An agent tool; those of `dexbridge.toolsource` are some."""

    @property
    def name(self) -> str:
        """As the model sees it."""
        ...

    @property
    def bound(self) -> OfferedOperation | None:
        """The operation behind it; None for a tool that is no Connector operation."""
        ...


class OfferingSource(Protocol):
    """What offers tools; a `dexbridge.toolsource.ToolSource` is one."""

    def tools(self) -> Sequence[OfferedTool]:
        """The tools."""
        ...


def validate_tools(project: Project, tool_sources: Iterable[OfferingSource]) -> None:
    """Checks that every offered tool has its connection in the project, and the credentials its operation needs.

    What only looking up an unclear call needs is logged as a warning.

    Raises:
        InvalidToolOffer: some have not; it carries one diagnostic per fault, each naming tool, connection and
            credential.
    """
    found = [fault for name, offered in _operations(tool_sources) for fault in check_offer(project, name, offered)]
    faults = [fault for fault in found if fault.severity is Severity.ERROR]
    if faults:
        raise InvalidToolOffer(faults)
    for warning in found:
        _LOG.warning("%s", warning)


def _operations(tool_sources: Iterable[OfferingSource]) -> Iterator[tuple[str, OfferedOperation]]:
    for source in tool_sources:
        for tool in source.tools():
            if tool.bound is not None:
                yield tool.name, tool.bound


def check_offer(project: Project, tool: str, offered: OfferedOperation) -> Iterator[Diagnostic]:
    """The faults of one offered tool."""
    operation, reference = offered.operation, offered.reference
    try:
        connection = project.connection(reference.connector_id, reference.connection_name)
    except UnknownConnection:
        known = ", ".join(str(one) for one in project.references) or "none"
        yield _fault(
            project,
            (Severity.ERROR, Code.TOOL_CONNECTION),
            reference,
            f"The tool {tool} needs the connection {reference}, which is not in the file.",
            f"Add the connection, or do not offer the tool; the file has {known}.",
        )
        return
    definition = project.connectors.get(reference.connector_id)
    hints = {field.name: field.hint for field in definition.credentials} if definition else {}
    for credential in operation.credentials:
        if operation.held_for(credential, connection.credential_names) is None:
            hint = hints.get(credential, "").rstrip(".")
            yield _fault(
                project,
                (Severity.ERROR, Code.TOOL_CREDENTIAL),
                reference,
                f"The tool {tool} needs the credential {credential} of the connection {reference}, which has none.",
                f"Add {credential} to the connection{': ' + hint if hint else ''}.",
            )
    for credential in operation.reconcile_credentials if operation.can_reconcile else ():
        if operation.held_for(credential, connection.credential_names) is None:
            hint = hints.get(credential, "").rstrip(".")
            yield _fault(
                project,
                (Severity.WARNING, Code.TOOL_LOOK_UP),
                reference,
                f"The connection {reference} has no {credential}, so whether an unclear call of the tool {tool} was "
                "carried out cannot be looked up: it stays unknown.",
                f"Add {credential} to the connection{': ' + hint if hint else ''}.",
            )


def scopes_of_offer(project: Project, offered: OfferedOperation) -> tuple[NeededScopes, ...]:
    """The scopes an offered operation needs of the credentials there are; only the provider knows what these have."""
    reference = offered.reference
    try:
        connection = project.connection(reference.connector_id, reference.connection_name)
    except UnknownConnection:
        return ()
    return tuple(scopes_needed(offered.operation, connection.credential_names))


def _fault(
    project: Project, about: tuple[Severity, Code], reference: ConnectionReference, message: str, mend: str
) -> Diagnostic:
    severity, code = about
    return Diagnostic(severity, code, project.path, None, "", str(reference), message, mend)
