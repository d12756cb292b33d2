"""The demo's Worker: a process that runs the sessions of the order-support example.

    python -m dexbridge.console.demo.worker sqlite:////path/sessions.db

It says its flow type on standard output once it serves, and ends when its standard input is closed. The folder that
holds `examples/` must be on the import path.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Final

from dexbridge.config import ConfigurationError
from dexbridge.connectors import ConnectorError
from dexbridge.sessions import SessionError, open_engine
from dexbridge.toolsource import ToolSourceError
from examples.order_support.claude_agent_sdk_order_support import build_claude_agent_sdk_order_support_flow
from examples.order_support.order_desk import OrderDesk
from examples.order_support.slack_connector_tools import open_slack_project_connection

MODEL_VARIABLE: Final = "DEX_CLAUDE_AGENT_SDK_MODEL"
DEFAULT_MODEL: Final = "claude-opus-5-5"


async def serve(url: str) -> None:
    """Runs the sessions of the database at `url` until standard input ends."""
    slack_setup = await open_slack_project_connection()
    try:
        model = os.environ.get(MODEL_VARIABLE) or DEFAULT_MODEL
        connection = slack_setup.connection if slack_setup else None
        flow = build_claude_agent_sdk_order_support_flow(OrderDesk(), model, connection)
        async with open_engine(url, [flow]):
            print(flow.flow_type, flush=True)
            await _standard_input_ends()
    finally:
        if slack_setup is not None:
            await slack_setup.aclose()


async def _standard_input_ends() -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        await reader.read()
    finally:
        transport.close()


def main() -> None:
    """Serves the database named by the one argument."""
    if len(sys.argv) != 2:
        sys.exit("Name the database, such as sqlite:////path/sessions.db.")
    try:
        asyncio.run(serve(sys.argv[1]))
    except (ConfigurationError, ConnectorError, ToolSourceError, SessionError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
