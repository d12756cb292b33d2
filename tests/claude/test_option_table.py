"""One table says what becomes of every option; it knows the installed SDK's, and the docs show it."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from claude_agent_sdk import ClaudeAgentOptions

from dexbridge.claude.options.checks import check_options
from dexbridge.claude.options.page import options_page
from dexbridge.claude.options.table import FIELDS, FLAGS, SETTINGS
from dexbridge.sessions import SegmentFailed
from tests.fakes.claude_stage import API_KEY, Stage

ROOT = Path(__file__).parents[2]
WORKER = {"ANTHROPIC_API_KEY": API_KEY}


@dataclass
class NextOptions(ClaudeAgentOptions):
    """Options of an SDK that is not out yet."""

    run_tools_elsewhere: bool = True
    hidden_tools: list[str] = dataclasses.field(default_factory=list[str])


def test_every_field_of_the_installed_sdk_is_in_the_table() -> None:
    assert set(FIELDS) == {field.name for field in dataclasses.fields(ClaudeAgentOptions)}


def test_a_field_the_table_does_not_know_is_refused_when_it_is_set(bare_stage: Stage, tmp_path: Path) -> None:
    tools = bare_stage.flow().tools
    check_options(NextOptions(), tools, WORKER, tmp_path)
    with pytest.raises(SegmentFailed) as refused:
        check_options(NextOptions(run_tools_elsewhere=False, hidden_tools=["x"]), tools, WORKER, tmp_path)
    assert refused.value.permanent
    assert "run_tools_elsewhere is set: this version of dexbridge does not know it" in str(refused.value)
    assert "hidden_tools is set: this version of dexbridge does not know it" in str(refused.value)


def test_what_is_refused_says_why() -> None:
    rows = {**FIELDS, **SETTINGS, **FLAGS}
    assert [name for name, treatment in rows.items() if treatment.kind != "works" and not treatment.why] == []
    assert [name for name in SETTINGS if not re.fullmatch(r"\$?[A-Za-z]+", name)] == []
    assert [name for name in FLAGS if not re.fullmatch(r"[a-z-]+", name)] == []


def test_the_page_of_the_docs_is_the_table() -> None:
    page = (ROOT / "docs" / "claude-options.md").read_text(encoding="utf-8")
    assert page == options_page(), "run: python -m dexbridge.claude.options.page > docs/claude-options.md"
    for name in (*FIELDS, *SETTINGS, *FLAGS):
        assert f"`{name}`" in page


@pytest.mark.parametrize("page", ["README.md", "docs/quick-start.md"])
def test_first_pages_lead_to_it(page: str) -> None:
    assert "claude-options.md)" in (ROOT / page).read_text(encoding="utf-8")
