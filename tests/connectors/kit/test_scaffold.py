"""What `write_scaffold` writes passes lint and its own tests unmodified; test_write_a_connector.py checks its types."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dexbridge.connectors.scaffold import InvalidScaffold, package_name, write_scaffold

LONGEST = "a-very-long-name-of-a-provider-made-of-9"


def run(folder: Path, *arguments: str) -> str:
    """Runs a tool of this environment as the author would; nothing of this suite's settings reaches it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    ended = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert ended.returncode == 0, f"{arguments}:\n{ended.stdout}\n{ended.stderr}"
    assert "Warning" not in ended.stderr, ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_a_new_connector_passes_lint_and_its_own_tests(tmp_path: Path) -> None:
    folder = tmp_path / "dexbridge-acme-notes"
    written = write_scaffold("acme-notes", folder)
    assert all(path.is_relative_to(folder) for path in written)
    run(folder, "ruff", "format", "--check", "--no-cache")
    run(folder, "ruff", "check", "--no-cache")
    tests = run(folder, "pytest", "-q", "-p", "no:cacheprovider")
    assert " passed" in tests
    assert not {"failed", "error", "skipped", "warning", "warnings"} & set(tests.splitlines()[-1].split())


@pytest.mark.parametrize("name", ["ab", "x1-y2", LONGEST])
def test_names_of_any_length_are_formatted_and_sorted(tmp_path: Path, name: str) -> None:
    write_scaffold(name, tmp_path)
    run(tmp_path, "ruff", "format", "--check", "--no-cache")
    run(tmp_path, "ruff", "check", "--no-cache")
    assert (tmp_path / "src" / package_name(name) / "py.typed").read_text() == ""


@pytest.mark.parametrize(
    "name", ["", "A", "Acme", "acme_notes", "1acme", "acme/../x", "acme notes", f"{LONGEST}0", "é", "a"]
)
def test_what_is_no_connector_id_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidScaffold, match="such as acme-notes"):
        write_scaffold(name, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_taken_name_and_a_used_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidScaffold, match="'slack' is installed already"):
        write_scaffold("slack", tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    for folder in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(InvalidScaffold, match="not an empty folder"):
            write_scaffold("acme-notes", folder)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
