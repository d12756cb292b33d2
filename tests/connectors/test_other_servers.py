"""What `make others` compares and prints, without the servers: they are installed by that target alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.others.differences import BACKLOT, PRISM
from benchmarks.others.findings import Difference, Finding, Report, Whose
from benchmarks.others.prism import PATHS, cut, wrapped_examples

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {"a page": Difference("18", Whose.HARMLESS, "It reads all.")}


@pytest.mark.parametrize(
    ("findings", "surprises"),
    [
        ((Finding("a page", "15", "18"), Finding("a post", "sent", "sent")), ()),
        ((Finding("a page", "15", "15"),), ("a page: listed as a difference, not seen any more",)),
        ((Finding("a page", "15", "3"),), ("a page: right is '15', seen '3'",)),
        (
            (Finding("a page", "15", "18"), Finding("a post", "sent", "uncertain")),
            ("a post: right is 'sent', seen 'uncertain'",),
        ),
    ],
)
def test_what_is_not_as_it_is_listed_is_a_surprise(findings: tuple[Finding, ...], surprises: tuple[str, ...]) -> None:
    report = Report("Slack against a server", findings, KNOWN)
    assert report.surprises == surprises
    assert [line.split("  ", 2)[2] for line in str(report).splitlines() if "NOT LISTED" in line] == list(surprises)


def test_the_page_lists_exactly_the_differences_that_are_known() -> None:
    page = (ROOT / "docs/other-servers.md").read_text()
    rows = [re.split(r" ?\| ?", line)[1:-1] for line in page.splitlines() if line.startswith("| ")]
    listed = [row for row in rows if row[0] != "looked at"]
    known = {**BACKLOT, **PRISM}
    assert listed == [[name, f"`{each.seen}`", each.whose, each.why] for name, each in known.items()]


def test_the_page_names_the_versions_that_are_installed() -> None:
    page = (ROOT / "docs/other-servers.md").read_text()
    backlot = (ROOT / "benchmarks/others/requirements.txt").read_text().strip()
    npm = json.loads((ROOT / "benchmarks/others/package.json").read_text())["dependencies"]
    assert f"{backlot.replace('==', ' ')}," in page
    assert f"`@octokit/openapi` {npm['@octokit/openapi']})" in page
    assert f"prism {npm['@stoplight/prism-cli']}," in page


def test_the_description_is_cut_to_the_connectors_paths_and_what_they_refer_to() -> None:
    def answered(reference: str) -> dict[str, object]:
        content = {
            "schema": {"$ref": "#/components/schemas/issue"},
            "examples": {"one": {"value": {"$ref": reference}}},
        }
        return {"get": {"responses": {"200": {"content": {"application/json": content}}}}}

    issue = {"value": {"number": 1}}
    schema = {"properties": {"user": {"$ref": "#/components/schemas/user"}}}
    description = {
        "openapi": "3.0.3",
        "info": {"title": "GitHub"},
        "paths": {path: answered("#/components/examples/issue") for path in (*PATHS, "/emojis")},
        "components": {
            "schemas": {"issue": schema, "user": {"type": "object"}, "emoji": {}},
            "examples": {"issue": issue, "emoji": {}},
        },
    }
    assert wrapped_examples(description) == 1
    found = cut(description)
    assert list(found["paths"]) == list(PATHS)
    assert found["components"] == {
        "schemas": {"issue": schema, "user": {"type": "object"}},
        "examples": {"issue": issue},
    }
    assert wrapped_examples(found) == 0
