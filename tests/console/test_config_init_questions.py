"""`dexbridge config init` as somebody types into it, on a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.fakes.connection_files import BOT_TOKEN, USER_TOKEN
from tests.fakes.terminal import PROGRAM, typed

BOTH = {"bot_token": {"env": "SLACK_BOT_TOKEN"}, "user_token": {"env": "SLACK_USER_TOKEN"}}


def credentials(path: Path) -> object:
    text = path.read_text()
    whole = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    return whole["connections"][0]["credentials"]


def test_values_are_asked_for_without_echo_and_until_they_have_the_right_form(tmp_path: Path) -> None:
    path = tmp_path / "asked.json"
    said = typed(path, "slack", "support-slack", "postThreadReply", USER_TOKEN, BOT_TOKEN, "n")
    assert not [one for one in (BOT_TOKEN, USER_TOKEN) if one in said]
    assert "bot_token does not have the right form." in said
    assert credentials(path) == {"bot_token": BOT_TOKEN}


def test_enter_throughout_gives_what_every_operation_needs_and_says_what_that_is(tmp_path: Path) -> None:
    path = tmp_path / "asked.toml"
    said = typed(path, "slack", "", "", "", "", "")
    assert credentials(path) == BOTH
    assert "bot_token is needed by" in said
    assert "user_token is needed by" in said
    assert "Not yet: bot_token refers to the environment variable SLACK_BOT_TOKEN, which is not set." in said


def test_a_token_in_the_place_of_a_variables_name_is_neither_shown_nor_written(tmp_path: Path) -> None:
    path = tmp_path / "asked.toml"
    said = typed(path, "slack", "", "postThreadReply", BOT_TOKEN, "ghp_0123456789abcdefghij", "", "")
    assert not [one for one in (BOT_TOKEN, "ghp_0") if one in said + path.read_text()]
    assert said.count("That is no variable's name, and it was not kept.") == 2
    assert credentials(path) == {"bot_token": {"env": "SLACK_BOT_TOKEN"}}


def test_a_file_of_references_is_said_to_be_one_that_others_may_read(tmp_path: Path) -> None:
    said = typed(tmp_path / "asked.toml", "slack", "", "postThreadReply", "", "")
    command = f"chmod 644 {tmp_path / 'asked.toml'}"
    assert f"where another user reads it, as in an image, run {command}" in " ".join(said.split())
    held = typed(tmp_path / "held.json", "slack", "support-slack", "postThreadReply", BOT_TOKEN, "n")
    assert "chmod" not in held


def test_what_is_mistyped_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "asked.toml"
    said = typed(path, "slak", "slack", BOT_TOKEN, "main", "postThreadRepl", "postThreadReply", "my_bot_token", "")
    assert "That is not an installed Connector" in said
    assert "That is a token; names are shown" in said
    assert "Not all of these are operations of slack." in said
    assert credentials(path) == {"bot_token": {"env": "my_bot_token"}}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--connector", "slak"], "Is slack meant?"),
        (["--connector", "slack", "--connection", BOT_TOKEN], "Give the connection a name"),
        (["--connector", "slack", "--connection", "a", "--operation", "postThreadRepl"], "Is postThreadReply meant?"),
        (["--connector", "slack", "--connection", "a", "--operation", "postThreadReply"], "postThreadReply needs"),
        (["--connector", "slack", "--connection", "a", "--credential", "bot_token=env:ghp_abcd"], "not written on the"),
    ],
)
def test_flags_that_are_wrong_write_nothing_and_repeat_no_token(tmp_path: Path, flags: list[str], said: str) -> None:
    path = tmp_path / "c.toml"
    ended = run([str(path), *flags])
    shown = " ".join(ended.stderr.replace("│", " ").split())
    assert ended.returncode == 2
    assert said in shown
    assert BOT_TOKEN not in shown
    assert not path.exists()


def test_flags_without_a_credential_say_which_operations_cannot_be_used(tmp_path: Path) -> None:
    ended = run([str(tmp_path / "c.toml"), "--connector", "slack", "--connection", "main"])
    assert ended.returncode == 0
    assert "Without bot_token, these operations cannot be used: " in ended.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without a passwd entry")
def test_without_a_home_folder_there_is_a_sentence() -> None:
    command = ["setpriv", "--reuid", "54321", "--clear-groups", sys.executable, "-c", PROGRAM, "config", "init"]
    ended = subprocess.run(command, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (2, False)
    assert "There is no home folder here to write the file into. Name the file" in ended.stderr


def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs the command without a terminal."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [sys.executable, "-c", PROGRAM, "config", "init", *arguments]
    return subprocess.run(
        command, env={**environment, "COLUMNS": "300"}, input="", capture_output=True, text=True, check=False
    )
