"""`dexbridge connectors` as its user runs it: its own process, its exit code, what it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

WEATHER = """
from pydantic import BaseModel
from dexbridge.connectors import ConnectorDefinition, LiveCheck

async def check(connection):
    return LiveCheck(ok=True)

DEFINITION = ConnectorDefinition("weather", "Weather", BaseModel, (), (), check)
"""


def run(*arguments: str | Path, site: Path | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    program = "import sys; from dexbridge.console.cli import main; main(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", program, "connectors", *map(str, arguments)],
        env={**clean, **({"PYTHONPATH": str(site)} if site is not None else {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with two installed packages: one good, one whose module is not there."""
    for package, target in (("weather-one", "weather_one"), ("rain-two", "rain_absent")):
        name = package.split("-", maxsplit=1)[0]
        metadata = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[dexbridge.connectors]\n{name} = {target}:DEFINITION\n")
    (tmp_path / "weather_one.py").write_text(WEATHER)
    return tmp_path


def test_the_built_in_connectors_are_listed() -> None:
    ended = run("list")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [
        "github  getIssue, listIssueComments, addIssueComment  (built in)",
        "slack   listThreadMessages, getThreadReply, postChannelMessage, postThreadReply  (built in)",
    ]


def test_a_broken_package_is_named_and_the_others_are_listed(site: Path) -> None:
    ended = run("list", site=site)
    assert ended.returncode == 1
    assert [line.split()[0] for line in ended.stdout.splitlines()] == ["github", "rain", "slack", "weather"]
    assert "(weather-one 1.0)" in ended.stdout
    assert "error: " in ended.stderr
    assert "'rain-two'" in ended.stderr
    assert "repair or uninstall that package" in ended.stderr
    listed = json.loads(run("list", "--json", site=site).stdout)
    assert listed["version"] == 1
    rain = next(row for row in listed["connectors"] if row["connector_id"] == "rain")
    assert (rain["package"], rain["title"], rain["operations"]) == ("rain-two 1.0", None, [])
    assert "rain_absent" in rain["fault"]
    shown = run("show", "rain", site=site)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "'rain-two'" in shown.stderr
    assert run("show", "weather", site=site).stdout.startswith("Weather (weather)\n")


def test_a_connector_is_shown_with_all_that_matters_before_it_is_used() -> None:
    ended = run("show", "slack")
    assert (ended.returncode, ended.stderr) == (0, "")
    _, found, post = ended.stdout.partition("postThreadReply  (tool slack_post_thread_reply)\n")
    assert found
    assert "  effect:      non-idempotent write\n" in post
    assert "  approval:    only if the application asks for it\n" in post
    assert "  credentials: bot_token (chat:write)\n" in post
    assert "looked up with user_token or else bot_token (channels:history, groups:history)\n" in post
    rows = [line.split(maxsplit=2)[:2] for line in post.partition("branches:\n")[2].splitlines()]
    assert rows == [
        ["sent", "succeeded"],
        ["sentOutsideThread", "succeeded"],
        ["providerRejected", "failed"],
        ["uncertain", "outcome_unknown"],
        ["defect", "failed"],
    ]
    assert "maxMessageCharacters: The longest text that is sent, in characters. Default: 4000." in ended.stdout
    assert "approval:    recommended" in run("show", "github").stdout


def test_json_has_a_version_and_every_fact() -> None:
    shown: dict[str, Any] = json.loads(run("show", "github", "--json").stdout)
    assert (shown["version"], shown["connector_id"], shown["title"]) == (1, "github", "GitHub")
    assert shown["configuration"]["properties"]["endpoint"]["default"] == "https://api.github.com"
    assert [one["name"] for one in shown["credentials"]] == ["token"]
    add = shown["operations"][-1]
    branches = add.pop("branches")
    assert {branch["id"]: branch["outcome"] for branch in branches} == {
        "added": "succeeded",
        "providerRejected": "failed",
        "uncertain": "outcome_unknown",
        "defect": "failed",
    }
    del add["description"]
    assert add == {
        "operation_id": "addIssueComment",
        "tool_name": "github_add_issue_comment",
        "title": "Add GitHub issue comment",
        "effect": "non_idempotent_write",
        "exposed_to_agents": True,
        "recommends_approval": True,
        "can_reconcile": True,
        "credentials": ["token"],
        "reconcile_credentials": ["token"],
        "stand_ins": {},
        "scopes": {"token": ["public_repo"]},
        "timeout_seconds": 10.0,
        "reconcile_timeout_seconds": 30.0,
    }


def test_an_unknown_connector_is_refused_with_those_there_are() -> None:
    ended = run("show", "teams")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "error: No Connector 'teams' is installed; known are: github, slack.\n"


def test_a_new_connector_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    ended = run("new", "acme-notes", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "dexbridge-acme-notes" / "src" / "dexbridge_acme_notes" / "definition.py").is_file()
    assert "Next: cd dexbridge-acme-notes && pip install" in ended.stdout
    again = run("new", "acme-notes", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert "not an empty folder" in again.stderr
    assert run("new", "acme-notes", "--directory", tmp_path / "there").returncode == 0
    assert (tmp_path / "there" / "pyproject.toml").is_file()
    assert "such as acme-notes" in run("new", "Acme", cwd=tmp_path).stderr


def test_an_installed_new_connector_is_found_and_shown(tmp_path: Path) -> None:
    run("new", "acme-notes", "--directory", tmp_path / "new")
    source = tmp_path / "new" / "src"
    metadata = source / "dexbridge_acme_notes-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: dexbridge-acme-notes\nVersion: 0.1.0\n")
    points = "[dexbridge.connectors]\nacme-notes = dexbridge_acme_notes.definition:DEFINITION\n"
    (metadata / "entry_points.txt").write_text(points)
    assert "acme-notes  getNote, addNote  (dexbridge-acme-notes 0.1.0)" in run("list", site=source).stdout
    shown = run("show", "acme-notes", site=source).stdout
    assert "addNote  (tool acme_notes_add_note)" in shown
    assert "api_key (API key, required)" in shown
