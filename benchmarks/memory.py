"""Memory over many turns, and how many CLI processes there were at most.

Run alone with `python -m benchmarks.memory` (about five minutes for 500 turns).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Sequence

import psutil

from benchmarks.claude_stage import POST, SLACK_ARGUMENTS, calls_once, open_ours, open_stage
from benchmarks.report import Comparison, compare, print_table
from dexbridge.claude import CliProcesses

__all__ = ["measure"]

_TURNS = 500
_AT_ONCE = 4
_MOST = 3
_WARM = 0.2


def _resident() -> float:
    gc.collect()
    return psutil.Process().memory_info().rss / 1e6


async def _count_processes(counts: list[float]) -> None:
    while True:
        alive = 0
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                alive += "--output-format" in child.cmdline()
        counts.append(float(alive))
        await asyncio.sleep(0.25)


async def measure(turns: int = _TURNS) -> Sequence[Comparison]:
    """Resident megabytes (shown in the columns of milliseconds) after all turns beside a fifth of them; processes."""
    counts: list[float] = []
    async with open_stage(calls_once(POST, SLACK_ARGUMENTS)) as stage:
        source = stage.slack_source(asks=False)
        async with open_ours(stage, processes=CliProcesses(most=_MOST), tool_sources=[source]) as ours:
            counting = asyncio.create_task(_count_processes(counts))

            async def many(count: int) -> None:
                for _ in range(count):
                    await ours.turn()
                    # What the local servers remember is not ours to count.
                    stage.slack.requests.clear()

            await asyncio.gather(*(many(int(turns * _WARM) // _AT_ONCE) for _ in range(_AT_ONCE)))
            early = _resident()
            await asyncio.gather(*(many(int(turns * (1 - _WARM)) // _AT_ONCE) for _ in range(_AT_ONCE)))
            late = _resident()
            counting.cancel()
    return [
        compare(f"resident MB after {turns} turns", [late / 1000], f"after {int(turns * _WARM)}", [early / 1000], 1.1),
        compare("most CLI processes at once", [max(counts) / 1000], "the bound", [_MOST / 1000], 1.0),
    ]


if __name__ == "__main__":
    print_table(asyncio.run(measure()))
