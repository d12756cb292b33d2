"""From an approval given to the request at Slack, beside a bare DBOS workflow start on the same database.

Run alone with `python -m benchmarks.approval`. Postgres is measured when DEXBRIDGE_TEST_POSTGRES names one.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence

from dbos import DBOS

from benchmarks.claude_stage import POST, SLACK_ARGUMENTS, calls_once, open_ours, open_stage
from benchmarks.report import Comparison, Goal, compare, main

__all__ = ["measure", "start_bare_workflow"]

_ROUNDS = 12


@DBOS.workflow(name="benchmark_bare_workflow")
async def _nothing() -> float:
    return time.monotonic()


async def start_bare_workflow() -> float:
    """Seconds from the start of a DBOS workflow that does nothing to its first line."""
    began = time.monotonic()
    handle = await DBOS.start_workflow_async(_nothing)
    return await handle.get_result() - began


async def _on(database: str, url: str | None, rounds: int) -> Comparison:
    approved: list[float] = []
    bare: list[float] = []
    async with (
        open_stage(calls_once(POST, SLACK_ARGUMENTS)) as stage,
        open_ours(stage, url=url, tool_sources=[stage.slack_source(asks=True)]) as ours,
    ):
        given: list[float] = []

        async def approve(session_id: str, interrupt_id: str) -> None:
            given.append(time.monotonic())
            await ours.sessions.resolve_interrupt(session_id, interrupt_id, approved=True)

        for number in range(rounds + 1):
            await ours.turn(approve)
            posted = next(r for r in reversed(stage.slack.requests) if r.method == "chat.postMessage")
            # In a loop of its own: DBOS shuts down the executor of every loop it was called in.
            started = await asyncio.to_thread(lambda: asyncio.run(start_bare_workflow()))
            if number:
                approved.append(posted.received_at - given[-1])
                bare.append(started)
    return compare(
        f"approval given -> request at Slack, {database}", approved, "a bare workflow start", bare, Goal(p50=60)
    )


async def measure(rounds: int = _ROUNDS) -> Sequence[Comparison]:
    """Measures on SQLite, and on Postgres when there is one."""
    measured = [await _on("SQLite", None, rounds)]
    if url := os.environ.get("DEXBRIDGE_TEST_POSTGRES"):
        measured.append(await _on("Postgres", url, rounds))
    return measured


if __name__ == "__main__":
    main(measure)
