"""One agent, one Slack tool, one approval. Needs ANTHROPIC_API_KEY and DEX_CONNECTOR_CONFIG_FILE.

python examples/quick_start.py "Reply in Slack thread C0123456789 1710000000.000100: It ships on Thursday."
"""

import asyncio
import json
import os
import pwd
import sys
import uuid

from claude_agent_sdk import ClaudeAgentOptions

from dexbridge.claude import ClaudeAgentOptionsContext, build_claude_cli_environment, claude_agent_session_flow
from dexbridge.config import ConfigurationError, load_from_environment, validate_tools
from dexbridge.connectors import ConnectorError, slack
from dexbridge.sessions import AgentSessionClient, AgentSessionFlow, EventKind, SessionError, open_engine
from dexbridge.toolsource import ConnectorToolSource, ToolSource, connector_tool


def build_tool_sources(connection: slack.Connection) -> list[ToolSource]:
    reply = connector_tool(connection.post_thread_reply(), connection.reference, requires_approval=True)
    return [ConnectorToolSource([reply])]


def build_flow(tool_sources: list[ToolSource]) -> AgentSessionFlow:
    def build_options(_context: ClaudeAgentOptionsContext) -> ClaudeAgentOptions:
        # The CLI gets the key and nothing else that could lead it elsewhere; a gateway is passed on by name.
        env = build_claude_cli_environment(os.environ)
        env["ANTHROPIC_BASE_URL"] = os.environ.get("ANTHROPIC_BASE_URL", "")
        return ClaudeAgentOptions(
            model="claude-opus-5-5",
            env=env,
            system_prompt="You answer customers in Slack threads.",
            tools=[],
            setting_sources=[],
        )

    return claude_agent_session_flow(build_options, [], flow_type="SlackReplies", tool_sources=tool_sources)


def local_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


async def main(message: str) -> None:
    async with await load_from_environment() as project:
        tool_sources = build_tool_sources(slack.new_project_connection(project, "support-slack"))
        # A tool whose credential is missing stops the start here, not the first call of a customer.
        validate_tools(project, tool_sources)
        async with open_engine("sqlite:///.dexbridge/sessions.db", [build_flow(tool_sources)]) as engine:
            sessions = AgentSessionClient(engine)
            session_id = f"quick-start-{uuid.uuid4()}"
            await sessions.start_session(session_id)
            await sessions.send_user_message(session_id, message)
            async for event in sessions.read_events(session_id, follow=True):
                match event.kind:
                    case EventKind.INTERRUPT_OPENED:
                        print(event.data["tool"], event.data["connection"], json.dumps(event.data["arguments"]))
                        answer = await asyncio.to_thread(input, "Approve this call? [y/N] ")
                        await sessions.resolve_interrupt(
                            session_id,
                            event.data["interrupt_id"],
                            approved=answer.strip().lower() in ("y", "yes"),
                            decided_by=local_user(),
                        )
                    case EventKind.TURN_ANSWERED:
                        print(event.data["text"])
                        return
                    case EventKind.TURN_FAILED:
                        sys.exit(event.data["error"])
                    case _:
                        pass


if __name__ == "__main__":
    try:
        if len(sys.argv) != 2 or not os.environ.get("ANTHROPIC_API_KEY"):
            raise ValueError("set ANTHROPIC_API_KEY, and give the message as the one argument, in quotes")
        asyncio.run(main(sys.argv[1]))
    except (ConfigurationError, ConnectorError, SessionError, EOFError, OSError, ValueError) as error:
        print(f"Stopped: {error}", file=sys.stderr)
        sys.exit(2)
