"""docs/sessions.md names a test for each promise, and each of them exists; its code runs."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from dexbridge.sessions import AgentSessionClient, SessionLimits, open_engine
from tests.sessions.conftest import Database, flow_of

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
    lines = DOCUMENT.splitlines()
    rows = [line for line, next_one in pairwise(lines) if line.startswith("| ") and not next_one.startswith("|--")]
    assert len(rows) > 40
    assert [row for row in rows if "::test_" not in row] == []


async def test_its_code_runs(database: Database) -> None:
    names: dict[str, Any] = {
        "AgentSessionClient": AgentSessionClient,
        "SessionLimits": SessionLimits,
        "flow": flow_of([], limits=SessionLimits(run_model=timedelta(minutes=1))),
        "open_engine": open_engine,
        "replace": replace,
        "timedelta": timedelta,
    }
    start, listing, pruning, defaults, limits = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    await run(start.replace("...", "break"), names, database)
    async with open_engine(database.url, [names["flow"]]) as engine:
        names["sessions"] = AgentSessionClient(engine)
        async for event in names["sessions"].read_events("order-1042", follow=True):
            if event.kind == "turn_answered":
                break
        await run(listing, names, database)
        assert names["after"] == "order-1042"
    await run(pruning, names, database)
    assert names["gone"] == []
    await run(pruning.replace("days=90", ""), names, database)
    assert names["gone"] == ["order-1042"]
    await run(f"defaults = {defaults}", names, database)
    assert names["defaults"] == SessionLimits()
    await run(limits, names, database)
    assert names["flow"].limits == SessionLimits(
        run_model=timedelta(minutes=1), queued_messages=20, state_bytes=16 * 1024 * 1024
    )


async def run(shown: str, names: dict[str, Any], database: Database) -> None:
    """Runs a block of the document, on the test's database."""
    mine = shown.replace("postgresql://app@db/sessions", database.url)
    result = eval(compile(mine, "docs/sessions.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.isawaitable(result):
        await result
