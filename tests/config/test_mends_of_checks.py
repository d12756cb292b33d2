"""The mends of what is checked around the file, done to the letter: the environment, offers, packages, providers."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dexbridge.config import Code, open_project, validate_tools
from dexbridge.connectors import ConnectionReference
from dexbridge.connectors.slack.operations import POST_THREAD_REPLY
from dexbridge.connectors.testing.faults import Answer, AnswerLate
from dexbridge.connectors.testing.local_slack import LocalSlack
from tests.config.conftest import Write
from tests.config.mended import mends
from tests.fakes.connection_files import BOT_TOKEN, USER_TOKEN, document, record
from tests.fakes.offers import Offered

PROGRAM = "import sys; from dexbridge.console.cli import main; main(sys.argv[1:])"
OFFER = ("--offer", "slack/support-slack/postThreadReply")
Fault = Mapping[str, Any]


def check(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> list[Fault]:
    """The diagnostics of `dexbridge config check` in an environment that holds nothing else."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, "config", "check", "--json", *map(str, arguments)],
        env={"PATH": os.environ["PATH"], **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.stdout, ended.stderr
    found: list[Fault] = json.loads(ended.stdout)["diagnostics"]
    assert ended.returncode == (2 if any(one["severity"] == "error" for one in found) else 0)
    return found


async def check_beside(*arguments: str | Path) -> list[Fault]:
    """As `check`, beside the loop that serves a local Slack."""
    return await asyncio.to_thread(check, *arguments)


def the_fault(found: list[Fault], code: Code) -> Fault:
    (fault,) = found
    assert fault["code"] == code
    return fault


def words_of(fault: Fault, pattern: str) -> tuple[str, ...]:
    found = re.fullmatch(pattern, fault["mend"])
    assert found, fault["mend"]
    return tuple(found.groups())


@mends(Code.NOT_CONFIGURED)
def test_a_file_is_given_or_the_variable_is_set(write: Write) -> None:
    fault = the_fault(check(), Code.NOT_CONFIGURED)
    (variable,) = words_of(fault, r"Give a file, or set (\w+) to its path\.")
    path = write(document(record()))
    assert check(path) == []
    assert check(environment={variable: str(path)}) == []


@mends(Code.FILE_ABSENT)
def test_without_a_home_folder_the_whole_path_is_written(write: Write) -> None:
    path = write(document(record()))
    # A user whom no entry of passwd gives a home folder, and no HOME.
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can become a user without a passwd entry, with setpriv")
    command = ["setpriv", "--reuid", "54321", "--clear-groups", sys.executable, "-c", PROGRAM, "config", "check"]
    ended = subprocess.run(
        [*command, "--json", f"~/{path.name}"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    fault = the_fault(json.loads(ended.stdout)["diagnostics"], Code.FILE_ABSENT)
    assert fault["mend"] == "Write the whole path."
    assert check(path) == []


@mends(Code.ENVIRONMENT_CONFLICT)
def test_variables_that_conflict_are_unset(write: Write) -> None:
    path = str(write(document(record())))
    both = {"DEX_CONNECTOR_CONFIG_FILE": path, "DEX_PROJECT_ID": "p", "DEX_PROJECT_URL": "u"}
    fault = the_fault(check(environment=both), Code.ENVIRONMENT_CONFLICT)
    others, named = words_of(fault, r"Unset ([\w, ]+), or unset (\w+)\.")
    left = {name: value for name, value in both.items() if name not in others.split(", ")}
    assert named == "DEX_CONNECTOR_CONFIG_FILE"
    assert check(environment=left) == []
    alone = {name: value for name, value in both.items() if name != named}
    fault = the_fault(check(environment=alone), Code.ENVIRONMENT_CONFLICT)
    others, named = words_of(fault, r"Unset ([\w, ]+) and name a connection file in (\w+)\.")
    kept = {name: value for name, value in alone.items() if name not in others.split(", ")}
    assert check(environment={**kept, named: path}) == []


@mends(Code.CONNECTOR_UNUSABLE)
def test_a_package_whose_connector_cannot_be_loaded_is_uninstalled(write: Write, tmp_path: Path) -> None:
    metadata = tmp_path / "site" / "weather-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[dexbridge.connectors]\nweather = weather_absent:DEFINITION\n")
    path, environment = write(document(record())), {"PYTHONPATH": str(tmp_path / "site")}
    fault = the_fault(check(path, environment=environment), Code.CONNECTOR_UNUSABLE)
    package, version = words_of(
        fault, r"Until (\w+) ([\d.]+) is mended or uninstalled, its connections are not checked\."
    )
    shutil.rmtree(tmp_path / "site" / f"{package}-{version}.dist-info")
    assert check(path, environment=environment) == []


@mends(Code.TOOL_CONNECTION, Code.TOOL_CREDENTIAL)
def test_what_an_offered_operation_needs_is_added(write: Write) -> None:
    sales = record(connectionName="sales")
    fault = the_fault(check(write(document(sales)), *OFFER), Code.TOOL_CONNECTION)
    (known,) = words_of(fault, r"Add the connection, or do not offer the tool; the file has (\S+)\.")
    assert check(write(document(sales)), "--offer", f"{known}/postThreadReply") == []
    assert check(write(document(sales, record())), *OFFER) == []

    reader = record(credentials={"user_token": USER_TOKEN})
    fault = the_fault(check(write(document(reader)), *OFFER), Code.TOOL_CREDENTIAL)
    (name,) = words_of(fault, r'Add (\w+) to the connection: a bot token starts with "xoxb-".*')
    reader["credentials"][name] = BOT_TOKEN
    assert check(write(document(reader)), *OFFER) == []


@mends(Code.TOOL_LOOK_UP)
async def test_what_only_a_look_up_needs_is_added(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    offered = Offered(replace(POST_THREAD_REPLY, stand_ins={}), ConnectionReference("slack", "support-slack"))
    both = record(credentials={"bot_token": BOT_TOKEN})
    async with await open_project(write(document(both))) as project:
        validate_tools(project, [offered])
    found = re.search(r"Add (\w+) to the connection: .* \[tool-look-up\]", caplog.text)
    assert found
    caplog.clear()
    both["credentials"][found[1]] = USER_TOKEN
    async with await open_project(write(document(both))) as project:
        validate_tools(project, [offered])
    assert caplog.text == ""


@pytest.fixture
async def server() -> AsyncIterator[LocalSlack]:
    async with LocalSlack() as local:
        yield local


def at(server: LocalSlack, **credentials: str) -> dict[str, Any]:
    return document(record(configuration={"endpoint": server.endpoint}, credentials=credentials))


@mends(Code.LIVE_CHECK)
async def test_a_token_that_the_provider_refuses_is_replaced_where_it_stands(write: Write, server: LocalSlack) -> None:
    path = write(at(server, bot_token="xoxb-1-revoked"))
    fault = the_fault(await check_beside("--live", path), Code.LIVE_CHECK)
    (name,) = words_of(fault, r"Put a current (\w+) there, and run this again\.")
    assert name == "bot_token"
    lines = path.read_text().splitlines()
    line, column = fault["line"] - 1, fault["column"] - 1
    assert lines[line][column:] == '"xoxb-1-revoked"'
    lines[line] = lines[line][:column] + json.dumps(server.bot_token)
    assert await check_beside("--live", write("\n".join(lines))) == []


@mends(Code.LIVE_CHECK)
async def test_of_a_provider_that_is_not_reached_the_endpoint_is_corrected(write: Write, server: LocalSlack) -> None:
    away = document(
        record(configuration={"endpoint": "http://127.0.0.1:9/api"}, credentials={"bot_token": server.bot_token})
    )
    fault = the_fault(await check_beside("--live", write(away)), Code.LIVE_CHECK)
    assert fault["mend"].startswith("Check the endpoint in its configuration")
    assert await check_beside("--live", write(at(server, bot_token=server.bot_token))) == []


@mends(Code.LIVE_CHECK)
async def test_a_provider_that_is_slow_is_given_more_time(write: Write) -> None:
    async with LocalSlack() as server:
        path = write(at(server, bot_token=server.bot_token))
        server.fail_next("auth.test", AnswerLate(1.5))
        fault = the_fault(await check_beside("--live", "--deadline", "0.5", path), Code.LIVE_CHECK)
        (option,) = words_of(fault, r"Check the endpoint and the network, or give more time with (--\w+)\.")
        server.fail_next("auth.test", AnswerLate(1.5))
        assert await check_beside("--live", option, "15", path) == []


@mends(Code.LIVE_CHECK)
async def test_a_provider_with_a_fault_of_its_own_is_asked_again_later(write: Write, server: LocalSlack) -> None:
    path = write(at(server, bot_token=server.bot_token))
    server.fail_next("auth.test", Answer(503, ""))
    fault = the_fault(await check_beside("--live", path), Code.LIVE_CHECK)
    assert "bot_token" in fault["mend"] or "try again later" in fault["mend"]
    assert await check_beside("--live", path) == []


@mends(Code.LIVE_SCOPE)
@pytest.mark.parametrize("granted", [("users:read",), ("chat:write", "users:read")], ids=["posting", "looking up"])
async def test_a_scope_that_lacks_is_granted(write: Write, granted: tuple[str, ...]) -> None:
    async with LocalSlack(bot_scopes=granted) as server:
        path = write(at(server, bot_token=server.bot_token))
        for _ in range(2):
            found = await check_beside("--live", path, *OFFER)
            if found:
                assert {one["code"] for one in found} == {str(Code.LIVE_SCOPE)}
                scopes, name = words_of(
                    found[0], r"Grant ([\w:, ]+) to the app, install it again, and put the new (\w+) there\."
                )
                assert name == "bot_token"
                server.scopes["bot"] = (*server.scopes["bot"], *scopes.split(", "))
                server.bot_token = "xoxb-local-installed-again"
                path = write(at(server, bot_token=server.bot_token))
        assert await check_beside("--live", path, *OFFER) == []
