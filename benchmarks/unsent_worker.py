"""A Worker that posts to Slack without asking: `python unsent_worker.py DATABASE SLACK FOLDER`.

Its limits and Slack's are the product's own. It writes `<folder>/ready` once it serves, and `<folder>/told` once the
model was told of a call.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dexbridge.connectors import slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.sessions import AgentSessionFlow, open_engine
from dexbridge.toolsource import OfferedTools, connector_tool
from tests.fakes.scripted_runner import ScriptedRunner, Segment


async def _serve(database: str, endpoint: str, folder: Path) -> None:
    tokens = LocalSlack()
    held = MemoryConnection(
        "slack",
        "support-slack",
        configuration={"endpoint": endpoint},
        credentials={"bot_token": tokens.bot_token, "user_token": tokens.user_token},
    )
    connection = slack.new_project_connection(MemoryProject(held), "support-slack")
    post = connector_tool(connection.post_thread_reply(), connection.reference, requires_approval=False)

    async def before(segment: Segment) -> None:
        if segment.result is not None:
            (folder / "told").write_text(segment.result.text)

    flow = AgentSessionFlow("support", ScriptedRunner(before=before), OfferedTools([post]))
    async with open_engine(database, [flow]):
        (folder / "ready").touch()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
