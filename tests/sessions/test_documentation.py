"""docs/sessions.md names a test for each promise; each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
DOCUMENT = (TESTS.parent / "docs" / "sessions.md").read_text(encoding="utf-8")


def test_each_test_the_document_names_exists() -> None:
    named = re.findall(r"`([a-z_/]+\.py)::(test_\w+)`", DOCUMENT)
    assert len(named) > 40
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not re.search(rf"^(async )?def {test}\(", (TESTS / file).read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert missing == []


def test_each_promise_names_a_test() -> None:
    rows = [line for line in DOCUMENT.splitlines() if line.startswith("| ") and "what holds" not in line]
    assert len(rows) > 40
    assert [row for row in rows if "::test_" not in row] == []
