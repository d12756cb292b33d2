"""examples/quick_start.py, run as its reader runs it, against the local servers."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from dexbridge.claude.testing import ScriptedModel, order_support_script
from dexbridge.config.writing import NewConnection, write_connection_file
from dexbridge.connectors import Secret
from dexbridge.connectors.testing.local_slack import LocalSlack

QUICK_START = Path(__file__).resolve().parents[2] / "examples" / "quick_start.py"
MESSAGE = "Reply in Slack thread C0123456789 1710000000.000100: Order 1002 ships on Thursday."


async def run_quick_start(folder: Path, typed: str) -> tuple[str, list[str]]:
    """Returns what it printed, and what the local Slack then holds."""
    async with ScriptedModel(order_support_script) as model, LocalSlack() as slack:
        credentials = {"bot_token": Secret(slack.bot_token), "user_token": Secret(slack.user_token)}
        connection = NewConnection("slack", "support-slack", {"endpoint": slack.endpoint}, credentials)
        # It makes the folder.
        write_connection_file(str(folder / "connections.json"), [connection])
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(QUICK_START),
            MESSAGE,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "TMPDIR": str(folder),
                "ANTHROPIC_API_KEY": "local-key",
                "ANTHROPIC_BASE_URL": model.url,
                "DEX_CONNECTOR_CONFIG_FILE": "connections.json",
            },
        )
        async with asyncio.timeout(60):
            output, errors = await process.communicate(typed.encode())
        assert (process.returncode, errors.decode()) == (0, "")
        return output.decode(), [post.text for post in slack.posts]


async def test_posts_once_when_a_person_says_yes_and_not_otherwise(tmp_path: Path) -> None:
    (approved, posted), (declined, kept_back) = await asyncio.gather(
        run_quick_start(tmp_path / "approved", "yes\n"), run_quick_start(tmp_path / "declined", "\n")
    )
    asked, answered = approved.split("Approve this call? [y/N] ")
    assert asked.startswith('slack_post_thread_reply slack/support-slack {"channel_id": "C0123456789", ')
    assert answered == "I posted the reply in the Slack thread 1710000000.000100.\n"
    assert posted == ["Order 1002 ships on Thursday."]
    assert "it was not made." in declined
    assert kept_back == []
