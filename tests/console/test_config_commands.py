"""`dexbridge config` as an operator runs it: its own process, its exit code, what it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dexbridge.connectors.testing.local_slack import LocalSlack
from tests.fakes.connection_files import BOT_TOKEN, USER_TOKEN, VERSION, document, record

FIVE_FAULTS = f"""\
{{
  "schemaVersion": "{VERSION}",
  "connections": [
    {{
      "ConnectorId": "slack",
      "modulePath": "example.com/slack",
      "moduleVersion": "v0.21.0",
      "provider": "slack",
      "connectionName": "support-slack",
      "configuration": {{ "endpoint": "http://slack.example" }},
      "credentials": {{ "bot_token": "{USER_TOKEN}" }},
    }}],
  "extra": 1
}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def run(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs `dexbridge config`; nothing of this process's environment but PATH and HOME reaches it."""
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    program = "import sys; from dexbridge.console.cli import main; main(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", program, "config", *map(str, arguments)],
        env={**clean, **(environment or {})},
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def put(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    path.chmod(0o600)
    return path


def test_a_good_file_ends_with_0(folder: Path) -> None:
    path = put(folder / "c.json", document(record()))
    ended = run("check", path)
    assert (ended.returncode, ended.stdout) == (0, f"{path} is well: 1 connection: slack/support-slack\n")
    assert run("check", environment={"DEX_CONNECTOR_CONFIG_FILE": str(path)}).returncode == 0


def test_five_faults_are_printed_in_file_order_each_with_a_caret_line(folder: Path) -> None:
    path = put(folder / "c.json", FIVE_FAULTS)
    ended = run("check", path)
    assert ended.returncode == 2
    lines = ended.stdout.splitlines()
    heads = [line for line in lines if line.startswith(f"{path}:")]
    assert [head.split(": ")[1] for head in heads] == [
        "error[key-case]",
        "error[configuration]",
        "error[credential-shape]",
        "error[syntax]",
        "error[unknown-key]",
    ]
    assert [head.removeprefix(f"{path}:").split(": ")[0] for head in heads] == [
        "5:7",
        "10:38",
        "11:37",
        "11:57",
        "13:3",
    ]
    carets = [number for number, line in enumerate(lines) if line.strip(" |^") == "" and "^" in line]
    assert len(carets) == 5
    assert lines[carets[0] - 1] == ' 5 |       "ConnectorId": "slack",'
    assert lines[carets[0]] == "   |       ^^^^^^^^^^^^^"
    assert lines[carets[2] - 1] == ' 11 |       "credentials": { "bot_token": "***" },'
    assert lines[carets[2]] == "    |                                     ^^^^^"
    assert lines[-1] == f"5 errors, 0 warnings in {path}"
    assert "\x1b" not in ended.stdout
    assert USER_TOKEN not in ended.stdout + ended.stderr


def test_the_json_report(folder: Path) -> None:
    path = put(folder / "c.json", FIVE_FAULTS)
    ended = run("check", "--json", path)
    report: dict[str, Any] = json.loads(ended.stdout)
    assert ended.returncode == 2
    assert {key: value for key, value in report.items() if key != "diagnostics"} == {
        "version": "dexbridge.config-check/v1",
        "path": str(path),
        "errors": 5,
        "warnings": 0,
        "live": None,
        "unasked": [],
    }
    assert report["diagnostics"][1] == {
        "severity": "error",
        "code": "configuration",
        "path": str(path),
        "line": 10,
        "column": 38,
        "pointer": "/connections/0/configuration/endpoint",
        "connection": "slack/support-slack",
        "message": "The configuration 'endpoint' is refused: must be https; http is accepted on 127.0.0.1, ::1 and "
        "localhost only.",
        "mend": "Correct it, or leave it out for the default; `dexbridge config schema` prints what is accepted.",
        "related": [],
    }


def test_warnings_end_with_1_only_under_strict(folder: Path) -> None:
    path = put(folder / "c.json", document(record(credentialStatus="reauthorization_required")))
    assert run("check", path).returncode == 0
    strict = run("check", path, "--strict")
    assert strict.returncode == 1
    assert "warning[reauthorization-required]" in strict.stdout


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({}, "not-configured"),
        ({"DEX_CONNECTOR_CONFIG_FILE": "/nowhere/c.json"}, "file-absent"),
        ({"DEX_CONNECTOR_CONFIG_FILE": "/nowhere/c.json", "DEX_PROJECT_ID": "p"}, "environment-conflict"),
        ({"DEX_PROJECT_ID": "p"}, "environment-conflict"),
    ],
)
def test_no_file_ends_with_2(environment: dict[str, str], code: str) -> None:
    plain = run("check", environment=environment)
    assert plain.returncode == 2
    assert f"error[{code}]" in plain.stdout
    assert not plain.stdout.startswith(":")
    assert json.loads(run("check", "--json", environment=environment).stdout)["diagnostics"][0]["code"] == code


def test_offered_operations_are_checked(folder: Path) -> None:
    path = put(folder / "c.json", document(record()))
    assert run("check", path, "--offer", "slack/support-slack/postThreadReply").returncode == 0
    reader = put(folder / "reader.json", document(record(credentials={"user_token": USER_TOKEN})))
    lacking = run("check", reader, "--offer", "slack/support-slack/postThreadReply")
    assert (lacking.returncode, "error[tool-credential]" in lacking.stdout) == (2, True)
    absent = run("check", path, "--offer", "slack/sales/postThreadReply")
    assert (absent.returncode, "error[tool-connection]" in absent.stdout) == (2, True)
    wrong = run("check", path, "--offer", "slack/support-slack/nothing")
    assert wrong.returncode == 2
    assert "postThreadReply" in wrong.stderr


def test_scopes_that_only_the_provider_knows_are_listed_and_spoil_nothing(folder: Path) -> None:
    offer = ("--offer", "slack/support-slack/postThreadReply")
    bot_alone = put(folder / "bot.json", document(record(credentials={"bot_token": BOT_TOKEN})))
    checked = run("check", "--strict", bot_alone, *offer)
    assert checked.returncode == 0
    assert checked.stdout.splitlines()[1:] == [
        "The providers were not asked whether these scopes are there; --live asks:",
        "  slack/support-slack, bot_token: chat:write, for postThreadReply",
        "  slack/support-slack, bot_token: channels:history, groups:history, to look up an unclear postThreadReply",
    ]
    told = json.loads(run("check", "--json", bot_alone, *offer).stdout)["unasked"]
    assert [(one["credential"], one["lookUp"]) for one in told] == [("bot_token", False), ("bot_token", True)]
    both = put(folder / "both.json", document(record(credentials={"bot_token": BOT_TOKEN, "user_token": USER_TOKEN})))
    assert "user_token: channels:history, groups:history, to look up" in run("check", both, *offer).stdout
    assert len(run("check", both).stdout.splitlines()) == 1


@pytest.fixture
async def server() -> AsyncIterator[LocalSlack]:
    async with LocalSlack() as local:
        yield local


async def run_beside(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the command while this process serves the local Slack."""
    import asyncio

    return await asyncio.to_thread(run, *arguments)


async def test_live_asks_every_provider(folder: Path, server: LocalSlack) -> None:
    settings = {"endpoint": server.endpoint}
    good = record(configuration=settings, credentials={"bot_token": server.bot_token})
    bad = record(connectionName="revoked", configuration=settings)
    ended = await run_beside("check", "--live", "--json", put(folder / "c.json", document(good, bad)))
    report = json.loads(ended.stdout)
    assert ended.returncode == 2
    assert [(row["connection"], row["ok"]) for row in report["live"]] == [
        ("slack/support-slack", True),
        ("slack/revoked", False),
    ]
    assert "chat:write" in report["live"][0]["scopes"]["bot_token"]
    assert [one["code"] for one in report["diagnostics"] if one["severity"] == "error"] == ["live-check"]
    assert "slack/support-slack works" in ended.stderr
    assert "slack/revoked does not work" in ended.stderr
    (fault,) = [one for one in report["diagnostics"] if one["severity"] == "error"]
    lines = (folder / "c.json").read_text().splitlines()
    assert lines[fault["line"] - 1][fault["column"] - 1 :] == f'"{BOT_TOKEN}"'
    assert fault["pointer"] == "/connections/1/credentials/bot_token"
    assert "does not accept bot_token" in fault["message"]
    assert "Put a current bot_token there" in fault["mend"]
    assert "invalid_auth" not in ended.stderr


async def test_live_tells_a_provider_that_is_not_reached_from_one_that_refuses(
    folder: Path, server: LocalSlack
) -> None:
    await server.__aexit__(None, None, None)
    path = put(folder / "c.json", document(record(configuration={"endpoint": server.endpoint})))
    ended = await run_beside("check", "--live", path)
    assert ended.returncode == 2
    assert "was not reached" in ended.stdout
    assert "its credentials were not judged" in ended.stdout
    assert (ended.stdout + ended.stderr).count("No connection to") == 1
    assert ended.stdout.startswith(f"{path}:9:25: error[live-check]")


async def test_live_compares_scopes(folder: Path) -> None:
    async with LocalSlack(bot_scopes=("users:read",)) as server:
        good = record(configuration={"endpoint": server.endpoint}, credentials={"bot_token": server.bot_token})
        path = put(folder / "c.json", document(good))
        offered = await run_beside("check", "--live", path, "--offer", "slack/support-slack/postThreadReply")
        assert offered.returncode == 2
        assert "error[live-scope]" in offered.stdout
        assert "lacks chat:write" in offered.stdout
        assert (await run_beside("check", "--live", path)).returncode == 0
        assert (await run_beside("check", "--live", "--strict", path)).returncode == 1


async def test_live_has_a_deadline(folder: Path) -> None:
    import asyncio

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(never, "127.0.0.1", 0) as silent:
        port = silent.sockets[0].getsockname()[1]
        path = put(folder / "c.json", document(record(configuration={"endpoint": f"http://127.0.0.1:{port}/api"})))
        ended = await run_beside("check", "--live", "--deadline", "0.3", path)
    assert ended.returncode == 2
    assert "No answer within 0.3 s" in ended.stdout


def test_init_writes_a_private_file_that_is_well(folder: Path) -> None:
    path = folder / "new" / "connections.toml"
    ended = run(
        "init", path, "--connector", "slack", "--connection", "support-slack",
        "--credential", "bot_token=env:SLACK_BOT_TOKEN", "--configuration", "maxMessageCharacters=8000",
        environment={"SLACK_BOT_TOKEN": BOT_TOKEN},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert tomllib.loads(path.read_text())["connections"] == [
        {
            "connectorId": "slack",
            "connectionName": "support-slack",
            "configuration": {"maxMessageCharacters": 8000},
            "credentials": {"bot_token": {"env": "SLACK_BOT_TOKEN"}},
        }
    ]
    assert run("check", path, environment={"SLACK_BOT_TOKEN": BOT_TOKEN}).returncode == 0
    assert [one.name for one in path.parent.iterdir()] == ["connections.toml"]
    again = run("init", path, "--connector", "slack", "--connection", "x")
    assert (again.returncode, "is there already" in again.stderr) == (2, True)


@pytest.mark.parametrize("name", ["c.json", "c.toml"])
def test_init_takes_a_value_from_standard_input_only(folder: Path, name: str) -> None:
    flags = ("--connector", "slack", "--connection", "main", "--credential")
    refused = run("init", folder / name, *flags, f"bot_token={BOT_TOKEN}")
    assert refused.returncode == 2
    assert BOT_TOKEN not in refused.stdout + refused.stderr
    swapped = run("init", folder / name, *flags, BOT_TOKEN)
    assert swapped.returncode == 2
    assert BOT_TOKEN not in swapped.stdout + swapped.stderr
    taken = run("init", folder / name, *flags, "bot_token=-", typed=BOT_TOKEN + "\n")
    assert taken.returncode == 0
    assert BOT_TOKEN not in taken.stdout + taken.stderr
    assert BOT_TOKEN in (folder / name).read_text()
    assert run("check", folder / name).returncode == 0


def test_show_is_redacted(folder: Path) -> None:
    path = put(
        folder / "c.toml",
        f"""
schemaVersion = "{VERSION}"
[[connections]]
connectorId = "slack"
connectionName = "support-slack"
configuration = {{ maxMessageCharacters = 8000, endpoint = "https://slack.com/{USER_TOKEN}" }}
credentialExpiresAt = 2999-01-01T00:00:00Z
credentials = {{ bot_token = "{BOT_TOKEN}", user_token = {{ env = "SLACK_USER_TOKEN" }} }}
""",
    )
    ended = run("show", path, environment={"SLACK_USER_TOKEN": USER_TOKEN})
    assert ended.returncode == 0
    assert ended.stdout.splitlines() == [
        "slack/support-slack",
        '  configuration: {"maxMessageCharacters": 8000, "endpoint": "***"}',
        "  credential bot_token: set",
        "  credential user_token: set, from env SLACK_USER_TOKEN",
        "  credentials expire at: 2999-01-01T00:00:00+00:00",
    ]


def test_show_names_a_credential_that_cannot_be_used(folder: Path) -> None:
    ended = run("show", put(folder / "c.json", document(record(credentials={"bot_token": USER_TOKEN}))))
    assert ended.returncode == 2
    assert ended.stdout.splitlines()[2:] == ["  credential bot_token: there, and cannot be used"]


def test_a_package_whose_connector_cannot_be_loaded_is_a_warning(folder: Path) -> None:
    metadata = folder / "site" / "weather-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[dexbridge.connectors]\nweather = weather_absent:DEFINITION\n")
    path = put(folder / "c.json", document(record()))
    site = {"PYTHONPATH": str(folder / "site")}
    ended = run("check", path, environment=site)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("warning[connector-unusable]: ")
    assert "weather" in ended.stdout
    assert run("check", "--strict", path, environment=site).returncode == 1
    shown = run("show", path, environment=site)
    assert (shown.returncode, "connector-unusable" in shown.stderr) == (0, True)


def test_the_schema_takes_what_the_check_takes() -> None:
    schema: dict[str, Any] = json.loads(run("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator: Any = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(document(record(authMethodId="bot"), record(connectorId="other", credentials={"x": 1})))
    for wrong in (
        document(record(), extra=1),
        document(record(connectorId=None)),
        document(record(modulePath=None)),
        document(record(credentials={"bot_token": USER_TOKEN})),
        document(record(credentials={"bot_tokn": BOT_TOKEN})),
        document(record(credentials={"bot_token": {"env": "A"}})),
        document(record(configuration={"maxResponseBytes": "many"})),
        document(record(configuration={"other": 1})),
    ):
        assert not validator.is_valid(wrong)
    toml: Any = jsonschema.Draft202012Validator(json.loads(run("schema", "--toml").stdout))
    assert toml.is_valid(document(record(modulePath=None, credentials={"bot_token": {"env": "A"}})))
    assert not toml.is_valid(document(record(credentials={"bot_token": {"env": "A", "file": "b"}})))


def test_checking_imports_neither_the_claude_sdk_nor_an_http_client(folder: Path) -> None:
    path = put(folder / "c.json", document(record()))
    program = (
        "import sys\nfrom dexbridge.console.cli import main\n"
        f"try: main(['config', 'check', {str(path)!r}])\nexcept SystemExit as end: assert end.code == 0\n"
        "print(sorted({'claude_agent_sdk', 'dbos', 'aiohttp', 'slack_sdk', 'tree_sitter'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"
