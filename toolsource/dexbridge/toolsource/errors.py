"""What can be wrong with a tool: its definition, or the arguments of one call."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["InvalidArguments", "InvalidToolDefinition", "ToolSourceError"]


class ToolSourceError(Exception):
    """Root of the errors of this room."""


class InvalidToolDefinition(ToolSourceError, ValueError):
    """A tool cannot be offered as it is defined; raised while the session Flow is built."""


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
