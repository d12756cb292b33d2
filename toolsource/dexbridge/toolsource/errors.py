"""What can be wrong with a tool: its definition, or the arguments of one call."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

__all__ = ["DefinitionFaults", "InvalidArguments", "InvalidToolDefinition", "ToolSourceError"]


class ToolSourceError(Exception):
    """Root of the errors of this room."""


class InvalidToolDefinition(ToolSourceError, ValueError):
    """A tool cannot be offered as it is defined; raised while the session Flow is built."""


class DefinitionFaults:
    """Gathers what is wrong with definitions, so that one error names all of it.

    faults = DefinitionFaults()
    with faults.gathered():
        check_tool_name(name)
    faults.raise_any()
    """

    def __init__(self) -> None:
        self._found: list[str] = []

    @contextmanager
    def gathered(self) -> Generator[None]:
        """Keeps the error that is raised within, and goes on after it."""
        try:
            yield
        except InvalidToolDefinition as error:
            self.add(str(error))

    def add(self, fault: str) -> None:
        """Keeps a sentence that was found otherwise."""
        self._found.append(fault)

    def raise_any(self) -> None:
        """Raises all that was found, one sentence a line.

        Raises:
            InvalidToolDefinition: Something was.
        """
        if self._found:
            raise InvalidToolDefinition("\n".join(self._found))


class InvalidArguments(ToolSourceError, ValueError):
    """The model's arguments do not fit the tool; nothing was asked, approved or sent.

    Attributes:
        tool_name: The tool's own name.
        faults: Every fault found, each `field: what is wrong and what to do`.
    """

    def __init__(self, tool_name: str, faults: Sequence[str]) -> None:
        self.tool_name = tool_name
        self.faults = tuple(faults)
        listed = "\n".join(f"- {fault}" for fault in self.faults)
        super().__init__(
            f"The call of {tool_name} was not made, its arguments are wrong:\n{listed}\n"
            f"Correct all of them and call {tool_name} again."
        )
