"""docs/http-routes.md names a test for each bound, and each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
DOCUMENT = (TESTS.parents[1] / "docs" / "http-routes.md").read_text(encoding="utf-8")


def test_each_test_the_document_names_exists() -> None:
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", DOCUMENT)
    assert len(named) > 10
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not re.search(rf"^(async )?def {test}\(", (TESTS / file).read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert missing == []


def test_each_bound_names_a_test() -> None:
    rows = [line for line in DOCUMENT.partition("## What guards them")[2].splitlines() if line.startswith("| ")]
    assert len(rows) > 10
    assert [row for row in rows if "::test_" not in row and not row.endswith("| test |")] == []
