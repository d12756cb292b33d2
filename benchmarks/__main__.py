"""`make bench`: every number, as a ratio taken in one run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks import (
    approval,
    cli_spawn,
    config_validation,
    memory,
    session_costs,
    step_bookkeeping,
    take_over,
    throughput,
    turnaround,
    whole_turn,
)
from benchmarks.report import Comparison, print_table, write_json


async def _main() -> None:
    comparisons: list[Comparison] = []
    # Each in a loop of its own: some call DBOS themselves, which takes a loop's threads away at the close.
    for script in (
        turnaround,
        whole_turn,
        approval,
        cli_spawn,
        step_bookkeeping,
        session_costs,
        throughput,
        take_over,
        memory,
        config_validation,
    ):
        measured = await asyncio.to_thread(asyncio.run, script.measure())
        print_table(measured)
        comparisons += measured
    write_json(comparisons, Path("benchmarks.json"))


asyncio.run(_main())
