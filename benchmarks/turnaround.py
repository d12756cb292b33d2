"""From a tool's result in hand to the next request at the model's API: bare SDK, and ours.

Run alone with `python -m benchmarks.turnaround` (or `make bench-turnaround`).
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, create_sdk_mcp_server, tool

from benchmarks.report import Comparison, compare, print_table
from dexbridge.claude import ClaudeAgentOptionsContext, build_claude_cli_environment, claude_agent_session_flow
from dexbridge.claude.testing import Reply, ScriptedModel, Text, ToolUse
from dexbridge.sessions import AgentSessionClient, EventKind, open_engine
from dexbridge.toolsource import ToolEffect, ToolPolicy

__all__ = ["measure"]

_ROUNDS = 15


def _options(model: ScriptedModel, **more: Any) -> ClaudeAgentOptions:
    environment = {**build_claude_cli_environment(os.environ), "ANTHROPIC_BASE_URL": model.url}
    environment["ANTHROPIC_API_KEY"] = "sk-ant-benchmark"
    return ClaudeAgentOptions(
        model="claude-opus-5-5", env=environment, system_prompt="x", tools=[], setting_sources=[], **more
    )


def _tool(ended: list[float]) -> Any:
    @tool("note", "Write a note.", {"text": str})
    async def note(arguments: dict[str, Any]) -> dict[str, Any]:
        ended.append(time.monotonic())
        return {"content": [{"type": "text", "text": f"noted {arguments['text']}"}]}

    return note


def _script(model: ScriptedModel) -> None:
    model.script(Reply(ToolUse("mcp__tools__note", {"text": "x"})), Reply(Text("Done.")))


async def _bare(model: ScriptedModel) -> float:
    """The tool runs in the SDK's process and nobody records it."""
    ended: list[float] = []
    server = create_sdk_mcp_server("tools", tools=[_tool(ended)])
    with tempfile.TemporaryDirectory() as configuration:
        options = _options(model, mcp_servers={"tools": server}, allowed_tools=["mcp__tools__note"])
        options.env["CLAUDE_CONFIG_DIR"] = configuration
        options.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
        _script(model)
        async with ClaudeSDKClient(options) as client:
            await client.query("note x")
            async for message in client.receive_messages():
                if isinstance(message, ResultMessage):
                    break
    return model.requests[-1].received_at - ended[-1]


async def _ours(model: ScriptedModel, sessions: AgentSessionClient, ended: list[float]) -> float:
    """The call leaves the CLI, runs in its own Step, and the CLI is resumed with the recorded result."""
    session_id = f"bench-{uuid.uuid4()}"
    _script(model)
    await sessions.start_session(session_id)
    await sessions.send_user_message(session_id, "note x")
    async for event in sessions.read_events(session_id, follow=True):
        if event.kind in (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED):
            break
    return model.requests[-1].received_at - ended[-1]


async def measure(rounds: int = _ROUNDS) -> Sequence[Comparison]:
    """Takes the two in turns, so that a busy machine disturbs both alike."""
    ended: list[float] = []
    bare: list[float] = []
    ours: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        async with ScriptedModel() as model:

            def build_options(context: ClaudeAgentOptionsContext) -> ClaudeAgentOptions:
                del context
                return _options(model)

            flow = claude_agent_session_flow(
                build_options,
                [_tool(ended)],
                flow_type="Benchmark",
                tool_policies={"note": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE, requires_approval=False)},
            )
            async with open_engine(f"sqlite:///{Path(folder) / 'sessions.db'}", [flow]) as engine:
                sessions = AgentSessionClient(engine)
                for number in range(rounds + 1):
                    undurable, durable = await _bare(model), await _ours(model, sessions, ended)
                    # The first round pays for imports and cold caches.
                    if number:
                        bare.append(undurable)
                        ours.append(durable)
    return [
        compare(
            "result in hand -> next model request, cold resume",
            ours,
            "the same tool called in the process of the bare SDK, not recorded",
            bare,
        )
    ]


if __name__ == "__main__":
    print_table(asyncio.run(measure()))
