"""What the benchmarks of the Claude adapter share: the model, Slack, a turn on the bare SDK, and one on ours."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    SdkMcpTool,
    create_sdk_mcp_server,
    tool,
)

from dexbridge.claude import (
    ClaudeAgentOptionsContext,
    CliProcesses,
    build_claude_cli_environment,
    claude_agent_session_flow,
)
from dexbridge.claude.testing import ModelRequest, Reply, ScriptedModel, Text, ToolUse
from dexbridge.connectors import Call, slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.sessions import AgentSessionClient, AgentSessionFlow, EventKind, SessionSnapshot, open_engine
from dexbridge.toolsource import ApprovalRule, ConnectorToolSource, ToolSource, connector_tool

__all__ = [
    "POST",
    "SLACK_ARGUMENTS",
    "Ours",
    "Stage",
    "agent_options",
    "bare_turn",
    "calls_once",
    "open_connection",
    "open_ours",
    "open_stage",
    "slack_source",
]

POST = "slack_post_thread_reply"
SLACK_ARGUMENTS = {"channel_id": "C0123456789", "thread_timestamp": "1710000000.000100", "text": "Ships on Thursday."}


def calls_once(name: str, arguments: dict[str, Any]) -> Callable[[ModelRequest], Reply]:
    """A model that calls a tool once per user message and then answers."""

    def respond(request: ModelRequest) -> Reply:
        return Reply(Text("Done.")) if request.tool_results else Reply(ToolUse(f"mcp__tools__{name}", arguments))

    return respond


def agent_options(model_url: str, **more: Any) -> ClaudeAgentOptions:
    """The application's options."""
    environment = {**build_claude_cli_environment(os.environ), "ANTHROPIC_BASE_URL": model_url}
    environment["ANTHROPIC_API_KEY"] = "sk-ant-benchmark"
    environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
    return ClaudeAgentOptions(
        model="claude-opus-5-5", env=environment, system_prompt="x", tools=[], setting_sources=[], **more
    )


def slack_source(connection: slack.Connection, *, asks: ApprovalRule) -> ToolSource:
    """The Slack operation as our tool."""
    operation = connection.post_thread_reply()
    return ConnectorToolSource([connector_tool(operation, connection.reference, requires_approval=asks)])


@dataclass
class Stage:
    """The servers and the tools of a benchmark.

    Attributes:
        ended: When each result was in hand, monotonic.
        recorded: The sessions, as recorded when their engine was closed; what the model was told is compared with them.
    """

    model: ScriptedModel
    slack: LocalSlack
    connection: slack.Connection
    ended: list[float] = field(default_factory=list[float])
    recorded: list[SessionSnapshot] = field(default_factory=list[SessionSnapshot])

    def options(self, **more: Any) -> ClaudeAgentOptions:
        """The application's options."""
        return agent_options(self.model.url, **more)

    def note(self) -> SdkMcpTool[Any]:
        """A tool that does nothing and says when."""

        @tool("note", "Write a note.", {"text": str})
        async def note(arguments: dict[str, Any]) -> dict[str, Any]:
            self.ended.append(time.monotonic())
            return {"content": [{"type": "text", "text": f"noted {arguments['text']}"}]}

        return note

    def inline_slack(self) -> SdkMcpTool[Any]:
        """The Slack operation as a tool of the bare SDK: the same request, nothing recorded."""
        operation = self.connection.post_thread_reply()

        @tool(POST, "Reply in a thread.", operation.input_schema())
        async def post(arguments: dict[str, Any]) -> dict[str, Any]:
            call = Call(str(uuid.uuid4()), "CallTool-1", "slack", "postThreadReply")
            await operation.dispatch(call, operation.validate(arguments))
            self.ended.append(time.monotonic())
            return {"content": [{"type": "text", "text": "posted"}]}

        return post

    def slack_source(self, *, asks: ApprovalRule) -> ToolSource:
        """The Slack operation as our tool."""
        return slack_source(self.connection, asks=asks)


@asynccontextmanager
async def open_connection(endpoint: str) -> AsyncGenerator[slack.Connection]:
    """A connection to a local Slack."""
    tokens = LocalSlack()
    held = MemoryConnection(
        "slack",
        "support-slack",
        configuration={"endpoint": endpoint},
        credentials={"bot_token": tokens.bot_token, "user_token": tokens.user_token},
    )
    try:
        yield slack.new_project_connection(MemoryProject(held), "support-slack")
    finally:
        await held.aclose()


@asynccontextmanager
async def open_stage(respond: Callable[[ModelRequest], Reply]) -> AsyncGenerator[Stage]:
    """Starts the servers; at the end the model must have been told what is recorded."""
    async with ScriptedModel(respond) as model, LocalSlack() as local, open_connection(local.endpoint) as connection:
        stage = Stage(model, local, connection)
        yield stage
        model.assert_told(stage.recorded)


async def bare_turn(stage: Stage, made: SdkMcpTool[Any]) -> float:
    """One turn on the bare SDK, the tool in its process; how long it took to its result, in seconds."""
    server = create_sdk_mcp_server("tools", tools=[made])
    nothing_recorded = stage.model.unchecked("the bare SDK keeps no records")
    with nothing_recorded, tempfile.TemporaryDirectory() as configuration:
        options = stage.options(mcp_servers={"tools": server}, allowed_tools=[f"mcp__tools__{made.name}"])
        options.env["CLAUDE_CONFIG_DIR"] = configuration
        took = began = time.monotonic()
        async with ClaudeSDKClient(options) as client:
            await client.query("go")
            async for message in client.receive_messages():
                if isinstance(message, ResultMessage):
                    took = time.monotonic()
                    break
    return took - began


@dataclass(frozen=True, slots=True)
class Ours:
    """Our sessions."""

    sessions: AgentSessionClient
    started: list[str] = field(default_factory=list[str])

    async def turn(self, decide: Callable[[str, str], Awaitable[None]] | None = None) -> float:
        """One turn in a new session; how long it took in seconds. `decide` is given session and interrupt."""
        session_id = f"bench-{uuid.uuid4()}"
        self.started.append(session_id)
        await self.sessions.start_session(session_id)
        began = time.monotonic()
        await self.sessions.send_user_message(session_id, "go")
        async for event in self.sessions.read_events(session_id, follow=True):
            if event.kind is EventKind.INTERRUPT_OPENED and decide is not None:
                await decide(session_id, event.data["interrupt_id"])
            if event.kind is EventKind.TURN_ANSWERED:
                return time.monotonic() - began
            if event.kind is EventKind.TURN_FAILED:
                raise RuntimeError(event.data["error"])
        raise RuntimeError("the events ended before the turn did")


@asynccontextmanager
async def open_ours(
    stage: Stage, *, url: str | None = None, processes: CliProcesses | None = None, **flow: Any
) -> AsyncGenerator[Ours]:
    """Opens an engine with one flow; `flow` goes to `claude_agent_session_flow`."""

    def build_options(context: ClaudeAgentOptionsContext) -> ClaudeAgentOptions:
        del context
        return stage.options()

    tools: Sequence[SdkMcpTool[Any]] = flow.pop("custom_tools", [])
    made: AgentSessionFlow = claude_agent_session_flow(
        build_options, tools, flow_type="Benchmark", processes=processes or CliProcesses(), **flow
    )
    with tempfile.TemporaryDirectory() as folder:
        async with open_engine(url or f"sqlite:///{Path(folder) / 'sessions.db'}", [made]) as engine:
            ours = Ours(AgentSessionClient(engine))
            yield ours
            # Not every session of the database: a server's may hold others.
            stage.recorded.extend([await ours.sessions.get_snapshot(started) for started in ours.started])
