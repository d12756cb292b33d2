"""The order-support application: its flow, and the server that its front ends and its operators use."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from dexbridge.claude.testing import ScriptedModel, order_support_script
from dexbridge.connectors import slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.console.web import ServerKeys, serve_sessions
from dexbridge.sessions import AgentSessionFlow, open_engine
from examples.order_support.claude_agent_sdk_order_support import build_claude_agent_sdk_order_support_flow
from examples.order_support.order_desk import OrderDesk
from examples.order_support.slack_connector_tools import SLACK_CONNECTION_NAME, open_slack_project_connection

DEFAULT_MODEL = "claude-opus-5-5"
ROUTES = "/products/agent-harnesses/claude-agent-sdk"

logger = logging.getLogger(__name__)


@asynccontextmanager
async def flows() -> AsyncGenerator[Sequence[AgentSessionFlow]]:
    """The application's flows, for as long as the context is open. `dexbridge --app` takes this function."""
    async with AsyncExitStack() as opened:
        if os.environ.get("OFFLINE", "") not in ("", "0"):
            connection: slack.Connection | None = await _open_offline(opened)
        elif not os.environ.get("ANTHROPIC_API_KEY"):
            logger.warning(
                "The Claude agent is not registered: ANTHROPIC_API_KEY is not set. Set it, or set OFFLINE=1 to use a "
                "scripted model and a local Slack."
            )
            yield ()
            return
        else:
            setup = await open_slack_project_connection()
            if setup is not None:
                opened.push_async_callback(setup.aclose)
            connection = setup.connection if setup else None
        model = os.environ.get("DEX_CLAUDE_AGENT_SDK_MODEL") or DEFAULT_MODEL
        yield (build_claude_agent_sdk_order_support_flow(OrderDesk(), model, connection),)


async def _open_offline(opened: AsyncExitStack) -> slack.Connection:
    """Serves a scripted model and a local Slack in this process; nothing leaves the machine."""
    model = await opened.enter_async_context(ScriptedModel(order_support_script))
    local = await opened.enter_async_context(LocalSlack())
    # The flow reads the environment whenever a session's CLI starts.
    os.environ["ANTHROPIC_BASE_URL"] = model.url
    os.environ["ANTHROPIC_API_KEY"] = "no-key-is-needed-here"
    held = MemoryConnection(
        "slack",
        SLACK_CONNECTION_NAME,
        configuration={"endpoint": local.endpoint},
        credentials={"bot_token": local.bot_token, "user_token": local.user_token},
    )
    opened.push_async_callback(held.aclose)
    logger.warning("Offline: the model is a script, and Slack is local; see its posts at %s/_admin/posts", local.url)
    return slack.new_project_connection(MemoryProject(held), SLACK_CONNECTION_NAME)


async def serve() -> None:
    """Runs the sessions and serves them until the process is told to stop."""
    async with flows() as registered, open_engine(os.environ.get("DEX_ENGINE_URL"), registered) as engine:
        await serve_sessions(
            engine,
            routes={ROUTES: registered[0].flow_type} if registered else {},
            keys=ServerKeys.from_environment(os.environ),
            port=int(os.environ.get("PORT") or 8081),
            # As in the Dex documentation, the session's own token approves its calls. Where the token is a customer's,
            # leave this out, and only operators decide.
            approvals="session",
        )
