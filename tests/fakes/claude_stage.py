"""A stage for the Claude adapter: the real CLI, a scripted model, a local Slack, and an engine on SQLite."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
from claude_agent_sdk import ClaudeAgentOptions, SdkMcpTool, tool

from dexbridge.claude import (
    ClaudeAgentOptionsContext,
    CliProcesses,
    build_claude_cli_environment,
    claude_agent_session_flow,
)
from dexbridge.claude.testing import ScriptedModel, ToolResult, ToolUse, snapshots_of
from dexbridge.connectors import slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.sessions import (
    AgentSessionClient,
    AgentSessionFlow,
    CallRecord,
    EventKind,
    SessionEngine,
    SessionEvent,
    SessionSnapshot,
    open_engine,
)
from dexbridge.toolsource import ConnectorTool, ConnectorToolSource, ToolEffect, ToolPolicy, connector_tool

API_KEY = "sk-ant-dummy-key-of-the-tests"
CHANNEL = "C0123456789"
THREAD = "1710000000.000100"
FLOW = "order-support"
POST = "mcp__tools__slack_post_thread_reply"
LIST = "mcp__tools__slack_list_thread_messages"
LOOK_UP = "mcp__tools__look_up_order"
CANCEL = "mcp__tools__cancel_order"
COLD = CliProcesses(park_call=timedelta(0), park_approval=timedelta(0))
"""No process waits with its call: each is resumed in a new one."""
SLACK_REPLY_STEPS = ["RunModel", "AwaitToolApproval", "CallSingleAttemptTool", "ResumeTurn", "RunModel"]

BuildOptions = Callable[[ClaudeAgentOptionsContext], ClaudeAgentOptions]


def slack_reply(text: str = "On its way.", **changes: Any) -> ToolUse:
    """The model's call of the Slack tool."""
    return ToolUse(POST, {"channel_id": CHANNEL, "thread_timestamp": THREAD, "text": text, **changes})


@dataclass
class OrderDesk:
    """The application's own tools, and what was asked of them."""

    looked_up: list[str] = field(default_factory=list[str])
    cancelled: list[str] = field(default_factory=list[str])
    found: str = "not shipped"

    def tools(self) -> list[SdkMcpTool[Any]]:
        @tool("look_up_order", "Looks up one order.", {"order_id": str})
        async def look_up_order(arguments: dict[str, Any]) -> dict[str, Any]:
            self.looked_up.append(arguments["order_id"])
            return {"content": [{"type": "text", "text": f"Order {arguments['order_id']}: {self.found}"}]}

        @tool("cancel_order", "Cancels one order.", {"order_id": str, "reason": str})
        async def cancel_order(arguments: dict[str, Any]) -> dict[str, Any]:
            self.cancelled.append(arguments["order_id"])
            return {"content": [{"type": "text", "text": f"Cancelled {arguments['order_id']}"}]}

        return [look_up_order, cancel_order]


ORDER_POLICIES: Mapping[str, ToolPolicy] = {
    "look_up_order": ToolPolicy(ToolEffect.READ),
    "cancel_order": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE),
}


def agent_options(model_url: str, **changes: Any) -> ClaudeAgentOptions:
    """Options of an application as the seeds show them, pointed at the scripted model."""
    environment = {
        **build_claude_cli_environment(os.environ),
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": API_KEY,
        **changes.pop("env", {}),
    }
    base = ClaudeAgentOptions(
        model="claude-opus-5-5", env=environment, system_prompt="You support orders.", tools=[], setting_sources=[]
    )
    return replace(base, **changes)


def slack_connection(
    endpoint: str, *, http_timeout: float = 10.0, settling_time: float = 0.1, **credentials: str
) -> tuple[MemoryConnection, slack.Connection]:
    """A connection called support-slack to a local Slack, and the project's side of it."""
    held = MemoryConnection("slack", "support-slack", configuration={"endpoint": endpoint}, credentials=credentials)
    connection = slack.new_project_connection(
        MemoryProject(held),
        "support-slack",
        http_timeout=timedelta(seconds=http_timeout),
        settling_time=timedelta(seconds=settling_time),
    )
    return held, connection


def slack_tools(connection: slack.Connection) -> list[ConnectorTool]:
    """The two Slack tools of the stage: a write that asks, a read that does not."""
    return [
        connector_tool(connection.post_thread_reply(), connection.reference, requires_approval=True),
        connector_tool(connection.list_thread_messages(), connection.reference),
    ]


class Stage:
    """Everything a test looks at. Made by the fixture `open_stage`."""

    def __init__(self, model: ScriptedModel, local_slack: LocalSlack, folder: Path) -> None:
        self.model = model
        self.slack = local_slack
        self.desk = OrderDesk()
        self.database = folder / "sessions.db"
        self.held: MemoryConnection
        self.engine: SessionEngine
        self.client: AgentSessionClient
        self.recorded: dict[str, SessionSnapshot] = {}
        self._open: AsyncExitStack | None = None

    def flow(
        self,
        *,
        options: Mapping[str, Any] | BuildOptions | None = None,
        tools: Sequence[SdkMcpTool[Any]] | None = None,
        policies: Mapping[str, ToolPolicy] | None = None,
        connector_tools: Callable[[slack.Connection], Sequence[ConnectorTool]] = slack_tools,
        connection: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        run_model_limit: timedelta = timedelta(seconds=60),
        flow_type: str = FLOW,
        processes: CliProcesses = CliProcesses(),  # noqa: B008 - a frozen value
        **more: Any,
    ) -> AgentSessionFlow:
        """A flow with the order tools and the Slack tools."""

        def build(_context: ClaudeAgentOptionsContext) -> ClaudeAgentOptions:
            assert options is None or isinstance(options, Mapping)
            return agent_options(self.model.url, **(options or {}))

        credentials = {"bot_token": self.slack.bot_token, "user_token": self.slack.user_token}
        given: dict[str, Any] = {**credentials, **(connection or {})}
        self.held, connected = slack_connection(self.slack.endpoint, **given)
        flow = claude_agent_session_flow(
            options if callable(options) else build,
            self.desk.tools() if tools is None else tools,
            flow_type=flow_type,
            tool_sources=[ConnectorToolSource(connector_tools(connected))],
            tool_policies=(ORDER_POLICIES if tools is None else {}) if policies is None else policies,
            run_model_limit=run_model_limit,
            processes=processes,
            **more,
        )
        return replace(flow, limits=replace(flow.limits, **(limits or {})))

    async def open(self, *flows: AgentSessionFlow) -> None:
        """Opens an engine on the stage's database; a second time it is a new Worker of the same one."""
        stack = AsyncExitStack()
        self.engine = await stack.enter_async_context(open_engine(f"sqlite:///{self.database}", flows))
        stack.push_async_callback(self.held.aclose)
        self.client = AgentSessionClient(self.engine, flows[0].flow_type)
        self._open = stack

    async def close(self) -> None:
        """Closes the engine."""
        if self._open is not None:
            stack, self._open = self._open, None
            async with stack:
                await self.remember()

    async def remember(self) -> None:
        """Keeps what is recorded now for `assert_told`: at a test's end the engine is closed."""
        for snapshot in await snapshots_of(self.client):
            self.recorded[snapshot.state.conversation_id] = snapshot

    def assert_told(self) -> None:
        """No request told the model anything but what is recorded. The fixture asks at every test's end."""
        self.model.assert_told(self.recorded.values())

    async def turn(
        self,
        text: str,
        *,
        approve: bool | None = None,
        rejection: str | None = None,
        session: str = "s-1",
    ) -> list[SessionEvent]:
        """Gives a message and returns the turn's events; with `approve` each call that asks is decided so.

        Without `approve` it returns when a call waits.
        """
        await self.client.start_session(session)
        after = (await self.client.get_snapshot(session)).last_event
        assert await self.client.send_user_message(session, text)
        return await self.go_on(after, approve=approve, rejection=rejection, session=session)

    async def decide(self, approve: bool, *, rejection: str | None = None, session: str = "s-1") -> list[SessionEvent]:
        """Decides about the call that waits and returns the events up to the turn's end."""
        snapshot = await self.client.get_snapshot(session)
        assert snapshot.state.interrupt is not None
        await self._resolve(snapshot.state.interrupt.interrupt_id, approve, rejection, session)
        return await self.go_on(snapshot.last_event, approve=approve, rejection=rejection, session=session)

    async def go_on(
        self, after: int, *, approve: bool | None = None, rejection: str | None = None, session: str = "s-1"
    ) -> list[SessionEvent]:
        """The events after that one, up to the turn's end or a wait."""
        events: list[SessionEvent] = []
        async with asyncio.timeout(90):
            async for event in self.client.read_events(session, after=after, follow=True):
                events.append(event)
                if event.kind in (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED, EventKind.TURN_CANCELLED):
                    return events
                if event.kind is EventKind.INTERRUPT_OPENED:
                    if approve is None:
                        return events
                    await self._resolve(event.data["interrupt_id"], approve, rejection, session)
        raise AssertionError("the events ended before the turn did")

    async def _resolve(self, interrupt_id: str, approve: bool, rejection: str | None, session: str) -> None:
        message = None if approve else rejection
        assert await self.client.resolve_interrupt(
            session, interrupt_id, approved=approve, rejection_message=message, decided_by="Ada"
        )

    async def snapshot(self, session: str = "s-1") -> SessionSnapshot:
        """The session as committed."""
        return await self.client.get_snapshot(session)

    async def events(self, session: str = "s-1") -> list[SessionEvent]:
        """All events of the session."""
        return [event async for event in self.client.read_events(session)]

    async def steps(self, session: str = "s-1") -> list[str]:
        """The names of the Steps that were completed, in order."""
        return [e.data["step"] for e in await self.events(session) if e.kind is EventKind.STEP_COMPLETED]

    async def calls(self, session: str = "s-1") -> tuple[CallRecord, ...]:
        """The calls of the snapshot."""
        return (await self.snapshot(session)).calls

    async def said(self, session: str = "s-1") -> list[str]:
        """What the agent said, as a person reads it."""
        return [m.text for m in (await self.snapshot(session)).messages if m.role.value == "assistant"]

    def results(self, request: int = -1) -> list[ToolResult]:
        """All tool results of the conversation one request held, in order."""
        return [result for message in self.model.requests[request].conversation for result in message.tool_results]

    def assert_one_result_each(self) -> None:
        """No call of the conversation lacks a result, and none has two."""
        last = self.model.requests[-1]
        assert {identity: len(last.results_of(identity)) for identity in last.tool_uses} == dict.fromkeys(
            last.tool_uses, 1
        )

    @property
    def slack_methods(self) -> list[str]:
        """The methods Slack was asked for, in order."""
        return [request.method for request in self.slack.requests]

    @property
    def posted(self) -> list[str]:
        """The texts Slack has, as it has them."""
        return [post.text for post in self.slack.posts]


def answer_of(events: Sequence[SessionEvent]) -> str:
    """The answer a turn ended with; the test fails with the turn's error when it did not."""
    last = events[-1]
    assert last.kind is EventKind.TURN_ANSWERED, last.data
    return last.data["text"]


def error_of(events: Sequence[SessionEvent]) -> str:
    """Why a turn failed."""
    last = events[-1]
    assert last.kind is EventKind.TURN_FAILED, last.data
    return last.data["error"]


async def until(condition: Callable[[], bool], what: str) -> None:
    """Waits for what happens right after a turn, such as the end of its process; fails after 20 s."""
    try:
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110 - processes and folders send no event
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{what} did not happen") from None


def cli_processes(parent: int | None = None) -> list[psutil.Process]:
    """The CLI processes of a process, this one by default.

    Not their own children too: one that a CLI has forked looks like it until its own program begins.
    """
    found: list[psutil.Process] = []
    for process in psutil.Process(parent).children():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and "--output-format" in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found
