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
from dexbridge.console.person import local_user
from tests.fakes.recorded import recorded_in

QUICK_START = Path(__file__).resolve().parents[2] / "examples" / "quick_start.py"
MESSAGE = "Reply in Slack thread C0123456789 1710000000.000100: Order 1002 ships on Thursday."


async def run(folder: Path, typed: str, *arguments: str, **environment: str) -> tuple[int | None, str, str]:
    """Returns its exit code, what it printed, and its errors."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(QUICK_START),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), **environment},
    )
    async with asyncio.timeout(60):
        output, errors = await process.communicate(typed.encode())
    return process.returncode, output.decode(), errors.decode()


async def run_quick_start(folder: Path, typed: str) -> tuple[str, list[str], ScriptedModel]:
    """Returns what it printed, what the local Slack then holds, and the model it asked."""
    async with ScriptedModel(order_support_script) as model, LocalSlack() as slack:
        credentials = {"bot_token": Secret(slack.bot_token), "user_token": Secret(slack.user_token)}
        connection = NewConnection("slack", "support-slack", {"endpoint": slack.endpoint}, credentials)
        # It makes the folder.
        write_connection_file(str(folder / "connections.json"), [connection])
        code, output, errors = await run(
            folder,
            typed,
            MESSAGE,
            ANTHROPIC_API_KEY="local-key",
            ANTHROPIC_BASE_URL=model.url,
            DEX_CONNECTOR_CONFIG_FILE="connections.json",
        )
        if typed:
            assert (code, errors) == (0, "")
        else:
            assert (code, errors) == (2, "Stopped: EOF when reading a line\n")
        return output, [post.text for post in slack.posts], model


async def test_posts_once_when_a_person_says_yes_and_not_otherwise(tmp_path: Path) -> None:
    folders = (tmp_path / "approved", tmp_path / "declined", tmp_path / "undecided")
    runs = await asyncio.gather(*(run_quick_start(*run) for run in zip(folders, ("yes\n", "\n", ""), strict=True)))
    (approved, posted, _), (declined, kept_back, _), (_, undecided, _) = runs
    for folder, (_, _, model) in zip(folders, runs, strict=True):
        recorded = await recorded_in(f"sqlite:///{folder}/.dexbridge/sessions.db")
        model.assert_told(recorded)
        for call in (call for snapshot in recorded for call in snapshot.calls):
            assert call.decided_by == local_user()
    asked, answered = approved.split("Approve this call? [y/N] ")
    assert asked.startswith('slack_post_thread_reply slack/support-slack {"channel_id": "C0123456789", ')
    assert answered == "I posted the reply in the Slack thread 1710000000.000100.\n"
    assert posted == ["Order 1002 ships on Thursday."]
    assert "it was not made." in declined
    assert kept_back == []
    assert undecided == []


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        ([], {"ANTHROPIC_API_KEY": "k"}, "give the message"),
        (["x"], {}, "set ANTHROPIC_API_KEY"),
        (["x"], {"ANTHROPIC_API_KEY": "k"}, "DEX_CONNECTOR_CONFIG_FILE"),
        (["x"], {"ANTHROPIC_API_KEY": "k", "DEX_CONNECTOR_CONFIG_FILE": "none.toml"}, "none.toml"),
        (["x"], {"ANTHROPIC_API_KEY": "k", "DEX_CONNECTOR_CONFIG_FILE": "bad.toml"}, "bad.toml"),
        # Case F10.
        (
            ["x"],
            {"ANTHROPIC_API_KEY": "k", "DEX_CONNECTOR_CONFIG_FILE": "lacks.json"},
            "slack_post_thread_reply needs the credential bot_token of the connection slack/support-slack",
        ),
    ],
)
async def test_an_ordinary_mistake_is_one_line(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], said: str
) -> None:
    (tmp_path / "bad.toml").write_text("= 1\n")
    (tmp_path / "bad.toml").chmod(0o600)
    lacks = NewConnection("slack", "support-slack", {}, {"user_token": Secret("xoxp-1-t")})
    write_connection_file(str(tmp_path / "lacks.json"), [lacks])
    code, output, errors = await run(tmp_path, "", *arguments, **environment)
    assert (code, output) == (2, "")
    (line,) = errors.splitlines()
    assert said in line
    assert not (tmp_path / ".dexbridge").exists()
