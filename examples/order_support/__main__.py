"""Starts the order-support application: `python -m examples.order_support`."""

import asyncio
import logging
import sys

from dexbridge.config import ConfigurationError
from dexbridge.connectors import ConnectorError
from dexbridge.sessions import SessionError, WorkerAlreadyRunning
from dexbridge.toolsource import ToolSourceError
from examples.order_support.app import serve

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
for chatty in ("aiohttp", "dbos"):
    logging.getLogger(chatty).setLevel(logging.WARNING)
try:
    asyncio.run(serve())
except WorkerAlreadyRunning:
    sys.exit(
        "Not started: another process, such as an earlier `make serve`, runs the Steps of this database already. "
        "Stop it, or name another database with DEX_ENGINE_URL and another PORT."
    )
except KeyboardInterrupt:
    sys.exit(130)
except (ConfigurationError, ConnectorError, ToolSourceError, SessionError, OSError) as error:
    sys.exit(f"Not started: {error}")
