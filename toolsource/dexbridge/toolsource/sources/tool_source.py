"""Objects that offer agent tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dexbridge.toolsource.sources.connector_tool import ConnectorTool

__all__ = ["ConnectorToolSource", "ToolSource"]


class ToolSource(Protocol):
    """Offers Connector operations as tools; each of their calls leaves the agent's process."""

    def tools(self) -> Sequence[ConnectorTool]:
        """The tools, in the order the model sees them."""
        ...


class ConnectorToolSource:
    """Offers exactly the operations it is given; nothing is offered by default.

    Args:
        tools: What `connector_tool` returned, in the order the model sees them.
    """

    def __init__(self, tools: Sequence[ConnectorTool]) -> None:
        self._tools = tuple(tools)

    def tools(self) -> Sequence[ConnectorTool]:
        """The tools, in the order the model sees them."""
        return self._tools
