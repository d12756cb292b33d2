"""Checks offered tools against a project, before the first model call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from dexbridge.config.codes import Code, Severity
from dexbridge.config.diagnostic import Diagnostic
from dexbridge.config.errors import InvalidToolOffer
from dexbridge.config.project import Project
from dexbridge.connectors import ConnectionReference, Operation, UnknownConnection


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

    Raises:
        InvalidToolOffer: some have not; it carries one diagnostic per fault, each naming tool, connection and
            credential.
    """
    faults = [fault for name, offered in _operations(tool_sources) for fault in check_offer(project, name, offered)]
    if faults:
        raise InvalidToolOffer(faults)


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
            Code.TOOL_CONNECTION,
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
                Code.TOOL_CREDENTIAL,
                reference,
                f"The tool {tool} needs the credential {credential} of the connection {reference}, which has none.",
                f"Add {credential} to the connection{': ' + hint if hint else ''}.",
            )


def _fault(project: Project, code: Code, reference: ConnectionReference, message: str, mend: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, code, project.path, None, "", str(reference), message, mend)
