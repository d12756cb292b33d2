"""What the CLI's process inherits, and what it leaves on the disk."""

from __future__ import annotations

import asyncio
import fnmatch
import stat
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from claude_agent_sdk import ClaudeAgentOptions

from dexbridge.claude import ClaudeAgentOptionsContext, build_claude_cli_environment
from dexbridge.claude.testing import Reply, Text
from tests.fakes.claude_stage import API_KEY, Stage, answer_of, cli_processes, slack_reply, until

OpenStage = Callable[..., Awaitable[Stage]]

FOREIGN = {
    "SLACK_BOT_TOKEN": "xoxb-foreign",
    "DEX_CONNECTOR_CONFIG_FILE": "/somewhere/connections.json",
    "SUPPORT_SLACK_TOKEN": "xoxb-of-a-connection-file",
    "CLAUDE_CODE_OAUTH_TOKEN": "oauth-foreign",
    "ANTHROPIC_AUTH_TOKEN": "auth-foreign",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Foreign: 1",
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "AWS_SECRET_ACCESS_KEY": "aws-foreign",
    "DATABASE_URL": "postgresql://user:foreign@host/db",
    "CLAUDE_CODE_DISABLE_DEFERRED_TOOL_RESUME": "1",
    "NODE_OPTIONS": "--title=foreign",
}
EXPECTED = [
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TEMP", "TMP", "PWD"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR", "XDG_CACHE_HOME"),
    *("CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"),
    # The SDK's own.
    *("CLAUDE_CODE_ENTRYPOINT", "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CODE_SDK_READS_SESSION_STATE"),
]


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder in which everything is ours."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def within(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def bare_options(environment: dict[str, str]) -> Callable[[ClaudeAgentOptionsContext], ClaudeAgentOptions]:
    """Options of an application that does not use build_claude_cli_environment: the adapter blanks the rest."""

    def build(_context: ClaudeAgentOptionsContext) -> ClaudeAgentOptions:
        return ClaudeAgentOptions(tools=[], setting_sources=[], env=environment)

    return build


async def test_the_cli_gets_its_key_and_nothing_of_the_workers(
    open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch, temporary_folder: Path
) -> None:
    for name, value in FOREIGN.items():
        monkeypatch.setenv(name, value)
    chosen: dict[str, str] = {}
    stage = await open_stage(options=bare_options(chosen))
    chosen.update(ANTHROPIC_BASE_URL=stage.model.url, ANTHROPIC_API_KEY=API_KEY)
    stage.model.script(Reply(Text("Slowly."), delay=1.0))
    turn = asyncio.create_task(stage.turn("Hello?"))
    await stage.model.wait_for_requests(1)

    (process,) = cli_processes()
    inherited = {name: value for name, value in process.environ().items() if value}
    command = " ".join(process.cmdline())
    configuration = Path(inherited["CLAUDE_CONFIG_DIR"])

    assert [name for name in inherited if not any(fnmatch.fnmatchcase(name, allowed) for allowed in EXPECTED)] == []
    assert inherited["ANTHROPIC_API_KEY"] == API_KEY
    assert set(inherited) & set(FOREIGN) == set()
    for value in (*FOREIGN.values(), stage.slack.bot_token, stage.slack.user_token):
        if len(value) > 1:
            assert value not in str(inherited)
            assert value not in command
    assert API_KEY not in command
    for folder in (configuration, configuration.parent, configuration.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert temporary_folder in configuration.parents
    assert answer_of(await turn) == "Slowly."
    await until(lambda: not configuration.parent.exists(), "the removal of the segment's folder")


async def test_nothing_is_left_in_the_temporary_folder(open_stage: OpenStage, temporary_folder: Path) -> None:
    stage = await open_stage()
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))
    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."

    (worker,) = within(temporary_folder)
    await until(
        lambda: {path.name for path in within(worker)} == {"alive", "claude"}, "the removal of the segment's folder"
    )

    await stage.close()
    assert within(temporary_folder) == []
    assert cli_processes() == []


async def test_the_folder_of_a_dead_worker_is_swept_and_that_of_a_living_one_is_not(
    bare_stage: Stage, temporary_folder: Path
) -> None:
    dead = temporary_folder / "dexbridge-worker-dead"
    (dead / "segment-1").mkdir(parents=True)
    (dead / "alive").touch()
    stage = bare_stage
    other = stage.flow(flow_type="other")
    await stage.open(stage.flow(), other)
    stage.model.script(Reply(Text("One.")), Reply(Text("Two.")))

    await stage.turn("One?")
    (living,) = within(temporary_folder)
    stage.client = type(stage.client)(stage.engine, "other")
    await stage.turn("Two?", session="s-2")

    assert not dead.exists()
    assert living.exists()
    assert len(within(temporary_folder)) == 2


def test_build_claude_cli_environment_blanks_what_is_not_allowed() -> None:
    given = {**FOREIGN, "PATH": "/bin", "LC_ALL": "C.UTF-8", "ANTHROPIC_API_KEY": API_KEY, "HTTPS_PROXY": "http://p"}

    built = build_claude_cli_environment(given)

    assert built == {
        **dict.fromkeys(FOREIGN, ""),
        "PATH": "/bin",
        "LC_ALL": "C.UTF-8",
        "ANTHROPIC_API_KEY": API_KEY,
        "HTTPS_PROXY": "http://p",
    }
