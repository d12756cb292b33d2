"""`dexbridge config check --live` on a connection that could not look up an unclear post."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from dexbridge.connectors.testing.local_slack import LocalSlack
from tests.fakes.connection_files import document, record

OFFER = ("--offer", "slack/support-slack/postThreadReply")


async def check_live(path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run beside the loop that serves the local Slack."""
    line = [sys.executable, "-m", "dexbridge.console", "config", "check", "--live", str(path), *OFFER, *more]
    return await asyncio.to_thread(subprocess.run, line, capture_output=True, text=True, timeout=60)


async def test_live_warns_when_an_unclear_post_could_not_be_looked_up(tmp_path: Path) -> None:
    async with LocalSlack(bot_scopes=("chat:write", "channels:history")) as server:
        bot_alone = record(configuration={"endpoint": server.endpoint}, credentials={"bot_token": server.bot_token})
        path = tmp_path / "c.json"
        path.write_text(json.dumps(document(bot_alone)))
        path.chmod(0o600)
        warned = await check_live(path)
        assert warned.returncode == 0
        assert "warning[live-scope]" in warned.stdout
        assert "The bot_token of slack/support-slack lacks groups:history" in warned.stdout
        assert "an unclear postThreadReply was carried out cannot be looked up" in warned.stdout
        assert (await check_live(path, "--strict")).returncode == 1
        server.scopes["bot"] = ("chat:write", "channels:history", "groups:history")
        assert (await check_live(path, "--strict")).returncode == 0
