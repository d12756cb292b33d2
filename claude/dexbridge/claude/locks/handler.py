"""The second lock: the MCP handlers the CLI can reach. They hold no connection.

Behind a tool that must leave the CLI there is nothing but a recorded result to hand out, once, for one tool-use ID.
So even a call that the hook did not stop cannot reach a provider.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from claude_agent_sdk import McpSdkServerConfig
from mcp.server import Server, ServerRequestContext
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool

from dexbridge.claude.conversation.results import WrongResult, text_of, told_text
from dexbridge.claude.function_tool import FunctionTool
from dexbridge.claude.locks.hook import must_leave
from dexbridge.sessions import CallResult
from dexbridge.toolsource import MCP_SERVER, InvalidArguments, OfferedTools

__all__ = ["HandlerLock"]

logger = logging.getLogger(__name__)

_TOOL_USE_ID = "claudecode/toolUseId"
_LONGEST_WAIT_SECONDS = 600.0
_ANY_ARGUMENTS: Mapping[str, Any] = {"type": "object", "additionalProperties": True}

Read = Callable[[dict[str, Any]], Awaitable[Mapping[str, Any]]]


class HandlerLock:
    """The MCP server `tools` of one segment.

    Args:
        tools: What the session offers.
        recorded: The result this segment hands over, if any.
        on_refused: Called with the tool-use ID of a call that should have left the CLI and was refused here.
    """

    def __init__(self, tools: OfferedTools, recorded: CallResult | None, on_refused: Callable[[str], None]) -> None:
        self._listed = [_listed(tool.name, tool.description, tool.input_schema) for tool in tools]
        if recorded is not None and tools.find(recorded.tool) is None:
            # The CLI gives up a call whose tool is gone, and would tell the model so. Only the record is handed out.
            self._listed.append(_listed(recorded.tool, "No longer offered.", _ANY_ARGUMENTS))
        # Only functions of the application that are reads; nothing here leads to a connection or to a write.
        self._reads = {tool.name: tool for tool in tools if isinstance(tool, FunctionTool) and not tool.effect.is_write}
        self._on_refused = on_refused
        self._expected: str | None = None
        self._recorded: CallResult | None = None
        self._arrived = asyncio.Event()
        self._handed_out = False
        if recorded is not None:
            self.expect(recorded.tool_use_id)
            self.give(recorded)

    @property
    def recorded(self) -> CallResult | None:
        """The result that is to be handed out, or was."""
        return self._recorded

    @property
    def handed_out(self) -> bool:
        """Whether the recorded result was given to the CLI."""
        return self._handed_out

    def expect(self, tool_use_id: str) -> None:
        """The call's handler waits for its recorded result, which `give` brings; until then it returns nothing."""
        self._expected = tool_use_id
        self._recorded = None
        self._arrived.clear()
        self._handed_out = False

    def give(self, recorded: CallResult) -> None:
        """Brings the recorded result of the expected call."""
        assert recorded.tool_use_id == self._expected, "a result is bound to one tool-use ID"
        self._recorded = recorded
        self._arrived.set()

    def server(self) -> McpSdkServerConfig:
        """The server for `ClaudeAgentOptions.mcp_servers`."""
        server = Server(MCP_SERVER, on_list_tools=self._list_tools, on_call_tool=self._call_tool)
        return McpSdkServerConfig(type="sdk", name=MCP_SERVER, instance=server)

    async def _list_tools(self, context: ServerRequestContext[Any, Any], params: Any) -> ListToolsResult:
        del context, params
        return ListToolsResult(tools=self._listed)

    async def _call_tool(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult:
        del context
        meta: Mapping[str, Any] = params.meta or {}
        tool_use_id = str(meta.get(_TOOL_USE_ID) or "")
        if tool_use_id and tool_use_id == self._expected and not self._handed_out:
            return await self._hand_out(params.name, tool_use_id)
        arguments = params.arguments or {}
        read = self._reads.get(params.name)
        if read is None:
            return self._refuse(params.name, tool_use_id)
        try:
            checked = read.validate(arguments)
        except InvalidArguments as error:
            return _result(str(error), is_error=True)
        if must_leave(read, checked):
            return self._refuse(params.name, tool_use_id)
        return await _run_read(read, checked)

    async def _hand_out(self, name: str, tool_use_id: str) -> CallToolResult:
        try:
            # The process is ended long before; a wait in a handler is bounded all the same.
            async with asyncio.timeout(_LONGEST_WAIT_SECONDS):
                await self._arrived.wait()
        except TimeoutError:
            return self._refuse(name, tool_use_id)
        recorded = self._recorded
        if recorded is None or recorded.tool_use_id != tool_use_id or self._handed_out:
            return self._refuse(name, tool_use_id)
        self._handed_out = True
        return _result(told_text(recorded), is_error=recorded.is_error)

    def _refuse(self, name: str, tool_use_id: str) -> CallToolResult:
        self._on_refused(tool_use_id)
        logger.warning("A call of %s reached its handler inside the CLI and was refused; nothing was sent.", name)
        return _result(
            f"{name} was not called: its calls must leave the conversation. Ask for it again.", is_error=True
        )


def _listed(name: str, description: str, schema: Mapping[str, Any]) -> Tool:
    return Tool.model_validate({"name": name, "description": description, "inputSchema": dict(schema)})


async def _run_read(tool: FunctionTool, arguments: dict[str, Any]) -> CallToolResult:
    limit = tool.inline_timeout
    timer = asyncio.timeout(None if limit is None else limit.total_seconds())
    try:
        async with timer:
            result = await tool.call(arguments)
    except WrongResult as error:
        return _result(f"{error}. That is for its authors to mend; calling it again does not help.", is_error=True)
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        return _result(f"{tool.name} was cancelled from inside.", is_error=True)
    except Exception as error:  # noqa: BLE001 - the application's function; the model gets an error it can act on
        if limit is not None and timer.expired():
            return _result(f"{tool.name} did not end within {limit.total_seconds():g} s.", is_error=True)
        logger.warning("The read %s raised %s.", tool.name, type(error).__name__)
        return _result(f"{tool.name} failed with {type(error).__name__}.", is_error=True)
    return _result(text_of(result), is_error=result.get("is_error") is True)


def _result(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult.model_validate({"content": [TextContent(type="text", text=text)], "isError": is_error})
