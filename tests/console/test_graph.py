"""The session graph is the code's own table, and the README shows it."""

import json
import subprocess
import sys
from pathlib import Path

from dexbridge.sessions.steps import STEPS
from dexbridge.sessions.steps.step_graph import FOLLOWS, graph_json, graph_mermaid

ROOT = Path(__file__).resolve().parents[2]


def dexbridge(*arguments: str) -> str:
    command = [sys.executable, "-m", "dexbridge.console", "graph", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_every_step_is_in_the_table_and_leads_only_to_steps() -> None:
    assert set(FOLLOWS) == set(STEPS)
    assert {following for edges in FOLLOWS.values() for following in edges} <= {*STEPS, None}


def test_the_command_writes_both_formats(tmp_path: Path) -> None:
    assert dexbridge() == graph_mermaid()
    dexbridge("--format", "json", "--out", str(tmp_path / "graph.json"))
    assert json.loads((tmp_path / "graph.json").read_text()) == graph_json()


def test_the_readme_shows_the_graph_as_it_is() -> None:
    shown = (ROOT / "README.md").read_text().partition("```mermaid\n")[2].partition("```")[0]
    assert shown == graph_mermaid()
