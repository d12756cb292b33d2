"""All tools of one session Flow, checked against one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dexbridge.toolsource.agent_tool import AgentTool
from dexbridge.toolsource.errors import DefinitionFaults, InvalidToolDefinition
from dexbridge.toolsource.policy import ToolPolicy, check_policies
from dexbridge.toolsource.sources.tool_source import ToolSource

__all__ = ["OfferedTools", "leaves_segment"]


class OfferedTools:
    """The tools a session may call, by their own names.

    Args:
        custom_tools: Tools that are functions of the application, their policies already applied.
        tool_sources: Offer Connector operations.
        tool_policies: By tool name; those of Connector tools are applied here.

    Raises:
        InvalidToolDefinition: Two tools share a name, or a policy names no tool, is none, or sets the timeout of a
            Connector tool; names all of it.
    """

    def __init__(
        self,
        custom_tools: Sequence[AgentTool],
        tool_sources: Sequence[ToolSource] = (),
        tool_policies: Mapping[str, ToolPolicy] | None = None,
    ) -> None:
        policies = tool_policies or {}
        check_policies(policies)
        faults = DefinitionFaults()
        offered = list(custom_tools)
        connector_tools = [tool for source in tool_sources for tool in source.tools()]
        for tool in connector_tools:
            policy = policies.get(tool.name)
            with faults.gathered():
                offered.append(tool if policy is None else tool.with_policy(policy))
        self._by_name: dict[str, AgentTool] = {}
        for tool in offered:
            with faults.gathered():
                self._add(tool)
        names = {*self._by_name, *(tool.name for tool in connector_tools)}
        if unknown := sorted(set(policies) - names):
            faults.add(
                f"tool_policies names {', '.join(map(repr, unknown))}, but the tools are "
                f"{', '.join(self._by_name) or 'none'}: policies use the tool's own name, without mcp__tools__."
            )
        faults.raise_any()

    def _add(self, tool: AgentTool) -> None:
        if (other := self._by_name.get(tool.name)) is not None:
            raise InvalidToolDefinition(
                f"Two tools are called {tool.name!r}, {_origin(other)} and {_origin(tool)}: give one "
                "of them another name with name=…"
            )
        self._by_name[tool.name] = tool

    def __iter__(self) -> Iterator[AgentTool]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def find(self, name: str) -> AgentTool | None:
        """The tool of that name, or `None`."""
        return self._by_name.get(name)


def leaves_segment(tool: AgentTool) -> bool:
    """Whether a call of the tool runs in its own Step: every Connector call, and every write."""
    return tool.bound is not None or tool.effect.is_write


def _origin(tool: AgentTool) -> str:
    return "a function of the application" if tool.bound is None else f"of the connection {tool.bound.reference}"
