"""Connector operations, and functions of the application, as agent tools."""

from dexbridge.toolsource.agent_tool import AgentTool
from dexbridge.toolsource.arguments import canonical_json, check_arguments, fingerprint
from dexbridge.toolsource.effect import ToolEffect
from dexbridge.toolsource.errors import DefinitionFaults, InvalidArguments, InvalidToolDefinition, ToolSourceError
from dexbridge.toolsource.names import MCP_SERVER, check_tool_name, mcp_name, short_name
from dexbridge.toolsource.offer import prepare_offer
from dexbridge.toolsource.offered import OfferedTools, leaves_segment
from dexbridge.toolsource.outcome import (
    AttemptResult,
    Completed,
    Dispatch,
    NotDone,
    OutcomeKind,
    Reconciled,
    StillUnknown,
    ToolOutcome,
    Unsettled,
)
from dexbridge.toolsource.policy import ApprovalRule, ToolPolicy, asks_for_approval, check_policies
from dexbridge.toolsource.schema import prepare_input_schema
from dexbridge.toolsource.sources.connector_tool import ConnectorTool, connector_tool
from dexbridge.toolsource.sources.tool_source import ConnectorToolSource, ToolSource

__all__ = [
    "MCP_SERVER",
    "AgentTool",
    "ApprovalRule",
    "AttemptResult",
    "Completed",
    "ConnectorTool",
    "ConnectorToolSource",
    "DefinitionFaults",
    "Dispatch",
    "InvalidArguments",
    "InvalidToolDefinition",
    "NotDone",
    "OfferedTools",
    "OutcomeKind",
    "Reconciled",
    "StillUnknown",
    "ToolEffect",
    "ToolOutcome",
    "ToolPolicy",
    "ToolSource",
    "ToolSourceError",
    "Unsettled",
    "asks_for_approval",
    "canonical_json",
    "check_arguments",
    "check_policies",
    "check_tool_name",
    "connector_tool",
    "fingerprint",
    "leaves_segment",
    "mcp_name",
    "prepare_input_schema",
    "prepare_offer",
    "short_name",
]
