"""Opening a project: cases F1, F2, F12 of the connection file."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from dexbridge.config import (
    ConnectorsNotConfigured,
    EnvironmentConflict,
    InvalidConnectionFile,
    ProjectClosed,
    load_from_environment,
    open_project,
)
from dexbridge.connectors import ConnectionReference, UnknownConnection, slack
from tests.config.conftest import Write
from tests.fakes.connection_files import document, record

FILE = "DEX_CONNECTOR_CONFIG_FILE"


BLANK = ["", " ", "  \t"]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        *({FILE: blank} for blank in BLANK),
        *({"DEX_PROJECT_ID": blank} for blank in BLANK),
        {FILE: " ", "DEX_PROJECT_ID": "", "DEX_PROJECT_TOKEN": " "},
    ],
)
async def test_an_unset_or_blank_variable_means_no_connectors(environment: dict[str, str]) -> None:
    with pytest.raises(ConnectorsNotConfigured, match=FILE) as caught:
        await load_from_environment(environment)
    assert isinstance(caught.value, FileNotFoundError)


async def test_an_absent_file_is_a_file_not_found_error_that_names_the_path(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    with pytest.raises(FileNotFoundError) as caught:
        await load_from_environment({FILE: str(path)})
    assert str(path) in str(caught.value)
    assert not isinstance(caught.value, ConnectorsNotConfigured)


@pytest.mark.parametrize("other", ["DEX_PROJECT_ID", "DEX_PROJECT_TOKEN"])
async def test_both_ways_to_configure_are_refused_together(write: Write, other: str) -> None:
    with pytest.raises(EnvironmentConflict, match=f"{FILE} and {other} are both set") as caught:
        await load_from_environment({FILE: str(write(document(record()))), other: "secret-value"})
    assert "secret-value" not in str(caught.value)
    assert not isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize("blank", BLANK)
@pytest.mark.parametrize("other", ["DEX_PROJECT_ID", "DEX_PROJECT_TOKEN", "DEX_PROJECT_"])
async def test_a_blank_variable_of_the_other_way_is_unset(write: Write, other: str, blank: str) -> None:
    async with await load_from_environment({FILE: str(write(document(record()))), other: blank}) as project:
        assert project.references == (ConnectionReference("slack", "support-slack"),)


async def test_only_variables_that_are_not_blank_are_named(write: Write) -> None:
    environment = {FILE: str(write(document(record()))), "DEX_PROJECT_ID": " ", "DEX_PROJECT_TOKEN": "secret-value"}
    with pytest.raises(EnvironmentConflict, match=f"{FILE} and DEX_PROJECT_TOKEN are both set"):
        await load_from_environment(environment)
    with pytest.raises(EnvironmentConflict, match=r"^DEX_PROJECT_TOKEN is set"):
        await load_from_environment({**environment, FILE: " "})


async def test_the_other_way_alone_is_said_to_be_unsupported() -> None:
    with pytest.raises(EnvironmentConflict, match="not supported yet"):
        await load_from_environment({"DEX_PROJECT_ID": "p-1"})


async def test_a_relative_path_stays_valid_when_the_working_folder_changes(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = write(document(record()))
    monkeypatch.chdir(path.parent)
    async with await load_from_environment({FILE: path.name}) as project:
        monkeypatch.chdir("/")
        assert "bot_token" in await project.connection("slack", "support-slack").read_credentials()


async def refusal(path: Path) -> str:
    with pytest.raises(InvalidConnectionFile) as caught:
        await load_from_environment({FILE: str(path)})
    return str(caught.value)


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o700, 0o4600])
async def test_another_mode_is_refused_with_a_command_that_mends_it(write: Write, mode: int) -> None:
    path = write(document(record()), mode=mode)
    text = await refusal(path)
    assert f"{path}:1:1: error: {path} has mode {mode:04o}" in text
    await mended_by(text, path)


async def test_another_mode_does_not_hide_the_other_faults(write: Write) -> None:
    text = await refusal(write(document(record(provider="")), mode=0o644))
    assert "[file-mode]" in text
    assert "[blank-value]" in text


async def test_a_byte_order_mark_is_refused_with_a_command_that_mends_it(write: Write) -> None:
    path = write(b"\xef\xbb\xbf" + json.dumps(document(record())).encode())
    text = await refusal(path)
    assert f"{path} starts with a UTF-8 byte order mark" in text
    await mended_by(text, path)


async def mended_by(text: str, path: Path) -> None:
    """Runs the command the message gives, and opens the file."""
    run_command(text)
    await (await load_from_environment({FILE: str(path)})).close()


def run_command(text: str) -> None:
    _, _, command = text.partition("Run: ")
    subprocess.run(command.rpartition(" [")[0], shell=True, check=True)


async def test_a_directory_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "connections.toml"
    folder.mkdir()
    assert f"{folder} is a directory" in await refusal(folder)


async def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "connections.json"
    os.mkfifo(pipe, 0o600)
    assert f"{pipe} is not a regular file" in await refusal(pipe)


@pytest.mark.parametrize("content", ["", "\n  \n"])
async def test_an_empty_file_is_refused_with_the_command_that_fills_it(write: Write, content: str) -> None:
    path = write(content)
    assert f"{path} is empty. Run: dexbridge config init {shlex.quote(str(path))}" in await refusal(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
async def test_another_users_file_is_refused(write: Write) -> None:
    path = write(document(record()))
    os.chown(path, 12345, -1)
    assert "belongs to user 12345" in await refusal(path)


async def test_a_file_over_16_mib_is_refused(write: Write) -> None:
    path = write(b" " * (16 * 1024 * 1024 + 1))
    assert "larger than 16 MiB" in await refusal(path)


async def test_a_name_that_tells_no_format_is_refused(write: Write) -> None:
    assert "does not tell its format" in await refusal(write(document(record()), name="connections.yaml"))


async def test_a_project_gives_its_connections_and_closes_them(write: Write) -> None:
    closed: list[str] = []

    async def close(name: str) -> None:
        closed.append(name)

    path = write(document(record(), record(connectionName="second")))
    async with await open_project(path) as project:
        assert project.references == (
            ConnectionReference("slack", "support-slack"),
            ConnectionReference("slack", "second"),
        )
        connection = slack.new_project_connection(project, "support-slack")
        assert connection.reference == ConnectionReference("slack", "support-slack")
        project.connection("slack", "support-slack").on_close(lambda: close("first"))
        project.connection("slack", "second").on_close(lambda: close("second"))
        with pytest.raises(UnknownConnection, match="It has slack/support-slack, slack/second"):
            project.connection("slack", "third")
    assert closed == ["second", "first"]
    await project.close()
    assert closed == ["second", "first"]
    with pytest.raises(ProjectClosed):
        project.connection("slack", "second")


async def test_every_connection_is_closed_even_when_one_fails(write: Write) -> None:
    closed: list[str] = []

    async def fail() -> None:
        raise OSError("no")

    async def close() -> None:
        closed.append("first")

    project = await open_project(write(document(record(), record(connectionName="second"))))
    project.connection("slack", "support-slack").on_close(close)
    project.connection("slack", "second").on_close(fail)
    with pytest.raises(ExceptionGroup):
        await project.close()
    assert closed == ["first"]


async def test_a_tilde_is_the_home_folder(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(document(record()))
    monkeypatch.setenv("HOME", str(tmp_path))
    for environment in ({FILE: "~/connections.json"}, {FILE: "~/connections.json", "HOME": str(tmp_path)}):
        async with await load_from_environment(environment) as project:
            assert project.path == str(tmp_path / "connections.json")
    async with await open_project("~/connections.json") as project:
        assert project.path == str(tmp_path / "connections.json")


async def test_an_absent_file_by_tilde_is_mended_by_a_command_that_writes_it_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"The connection file {tmp_path}/x.toml does not exist"):
        await load_from_environment({FILE: "~/x.toml"})


async def test_a_tilde_without_a_home_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    with pytest.raises(FileNotFoundError, match=r"there is no home folder here\. Write the whole path"):
        await load_from_environment({FILE: "~nobody-of-that-name/x.toml"})
