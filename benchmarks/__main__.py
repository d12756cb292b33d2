"""`make bench`: every number, as a ratio taken in one run. Exit code 1 when a goal was missed."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from benchmarks import (
    approval,
    cli_spawn,
    config_validation,
    idle_load,
    import_cost,
    memory,
    session_costs,
    step_bookkeeping,
    take_over,
    throughput,
    turnaround,
    unsent,
    wake_up,
    whole_turn,
)
from benchmarks.report import Comparison, print_table, say_how_busy, write_json


async def _main() -> bool:
    comparisons: list[Comparison] = []
    say_how_busy()
    # Each in a loop of its own: some call DBOS themselves, which takes a loop's threads away at the close.
    for script in (
        turnaround,
        whole_turn,
        approval,
        cli_spawn,
        step_bookkeeping,
        session_costs,
        throughput,
        wake_up,
        take_over,
        unsent,
        memory,
        idle_load,
        config_validation,
        import_cost,
    ):
        measured = await asyncio.to_thread(asyncio.run, script.measure())
        print_table(measured)
        comparisons += measured
    write_json(comparisons, Path("benchmarks.json"))
    missed = [item.name for item in comparisons if item.missed]
    print(f"Missed: {'; '.join(missed)}." if missed else "Every goal that was measured was met.")
    if not os.environ.get("DEXBRIDGE_TEST_POSTGRES"):
        print("Not measured: PostgreSQL. DEXBRIDGE_TEST_POSTGRES is empty, run `make services`.")
    return not missed


if not asyncio.run(_main()):
    sys.exit(1)
