"""examples/quick_start.py, run as its reader runs it, against the local servers."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from dexbridge.claude.testing import ScriptedModel, order_support_script
from dexbridge.config.writing import NewConnection, write_connection_file
from dexbridge.connectors import Secret
from dexbridge.connectors.testing.local_slack import LocalSlack

QUICK_START = Path(__file__).resolve().parents[2] / "examples" / "quick_start.py"
MESSAGE = "Reply in Slack thread C0123456789 1710000000.000100: Order 1002 ships on Thursday."


@pytest.mark.parametrize(
    ("typed", "posted", "answer"),
    [
        ("yes\n", ["Order 1002 ships on Thursday."], "I posted the reply in the Slack thread 1710000000.000100."),
        ("\n", [], "it was not made."),
    ],
)
async def test_posts_once_when_a_person_says_yes(tmp_path: Path, typed: str, posted: list[str], answer: str) -> None:
    async with ScriptedModel(order_support_script) as model, LocalSlack() as slack:
        credentials = {"bot_token": Secret(slack.bot_token), "user_token": Secret(slack.user_token)}
        connection = NewConnection("slack", "support-slack", {"endpoint": slack.endpoint}, credentials)
        write_connection_file(str(tmp_path / "connections.json"), [connection])
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(QUICK_START),
            MESSAGE,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "TMPDIR": str(tmp_path),
                "ANTHROPIC_API_KEY": "local-key",
                "ANTHROPIC_BASE_URL": model.url,
                "DEX_CONNECTOR_CONFIG_FILE": "connections.json",
            },
        )
        async with asyncio.timeout(60):
            output, errors = await process.communicate(typed.encode())
        assert (process.returncode, errors.decode()) == (0, "")
        asked, answered = output.decode().split("Approve this call? [y/N] ")
        assert asked.startswith('slack_post_thread_reply slack/support-slack {"channel_id": "C0123456789", ')
        assert answered.strip().endswith(answer)
        assert [post.text for post in slack.posts] == posted
