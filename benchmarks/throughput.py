"""Twenty sessions at once on one Worker, beside twenty turns on the bare SDK with the same concurrency.

Run alone with `python -m benchmarks.throughput`.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence

from benchmarks.claude_stage import POST, SLACK_ARGUMENTS, bare_turn, calls_once, open_ours, open_stage
from benchmarks.report import Comparison, Goal, compare, main

__all__ = ["measure"]

_SESSIONS = 20
_ROUNDS = 3


async def _together(turn: Callable[[], Awaitable[float]]) -> tuple[float, list[float]]:
    began = time.monotonic()
    took = await asyncio.gather(*(turn() for _ in range(_SESSIONS)))
    return time.monotonic() - began, list(took)


async def measure(rounds: int = _ROUNDS) -> Sequence[Comparison]:
    """Time for all of them (the goal of 0.8 x the throughput is 1.25 x the time), and the slowest by the median."""
    bare: list[float] = []
    ours: list[float] = []
    slowest: list[float] = []
    medians: list[float] = []
    async with open_stage(calls_once(POST, SLACK_ARGUMENTS)) as stage:
        inline = stage.inline_slack()
        async with open_ours(stage, tool_sources=[stage.slack_source(asks=False)]) as sessions:
            await sessions.turn()
            for _ in range(rounds):
                bare.append((await _together(lambda: bare_turn(stage, inline)))[0])
                all_of_them, each = await _together(sessions.turn)
                ours.append(all_of_them)
                slowest.append(max(each))
                medians.append(statistics.median(each))
    return [
        compare(f"{_SESSIONS} turns at once, all done", ours, "as many on the bare SDK", bare, Goal(1.25)),
        compare(f"slowest of {_SESSIONS} turns at once", slowest, "the median of the same turns", medians, Goal(2)),
    ]


if __name__ == "__main__":
    main(measure)
