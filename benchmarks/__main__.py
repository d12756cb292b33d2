"""`make bench`: every number, as a ratio taken in one run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks import session_costs, step_bookkeeping, take_over, turnaround
from benchmarks.report import print_table, write_json


async def _main() -> None:
    comparisons = [*await turnaround.measure(), *await take_over.measure()]
    # These call DBOS themselves, which takes a loop's threads away at the close: each in a loop of its own.
    for measure in (step_bookkeeping.measure, session_costs.measure):
        comparisons += await asyncio.to_thread(asyncio.run, measure())
    print_table(comparisons)
    write_json(comparisons, Path("benchmarks.json"))


asyncio.run(_main())
