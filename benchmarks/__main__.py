"""`make bench`: every number, as a ratio taken in one run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks import step_bookkeeping, turnaround
from benchmarks.report import print_table, write_json


async def _main() -> None:
    comparisons = [*await turnaround.measure(), *await step_bookkeeping.measure()]
    print_table(comparisons)
    write_json(comparisons, Path("benchmarks.json"))


asyncio.run(_main())
