"""Numbers as ratios taken in one run: this machine's speed cancels out, its noise does not."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Comparison", "Goal", "compare", "main", "print_table", "say_how_busy", "write_json"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a number must not exceed.

    Attributes:
        ratio: The ratio of the medians.
        p95_ratio: The ratio of the 95th percentiles.
        p50: The median itself, in the comparison's unit.
        more: How much more the median is than the other one, in the comparison's unit.
    """

    ratio: float | None = None
    p95_ratio: float | None = None
    p50: float | None = None
    more: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One quantity beside the quantity it is measured against, both in `unit`."""

    name: str
    against: str
    unit: str
    p50: float
    p95: float
    base_p50: float
    base_p95: float
    goal: Goal

    @property
    def ratio(self) -> float:
        """Ratio of the medians."""
        return self.p50 / self.base_p50

    @property
    def p95_ratio(self) -> float:
        """Ratio of the 95th percentiles."""
        return self.p95 / self.base_p95

    @property
    def verdict(self) -> str:
        """The goals with what came of each; empty when there is none."""
        goals = (
            ("ratio", self.ratio, self.goal.ratio, ""),
            ("p95 ratio", self.p95_ratio, self.goal.p95_ratio, ""),
            ("p50", self.p50, self.goal.p50, f" {self.unit}"),
            ("more", self.p50 - self.base_p50, self.goal.more, f" {self.unit}"),
        )
        return ", ".join(
            f"{name} at most {most:g}{unit}: {'met' if value <= most else 'MISSED'}"
            for name, value, most, unit in goals
            if most is not None
        )

    @property
    def missed(self) -> bool:
        """Whether one of the goals was missed."""
        return "MISSED" in self.verdict


def compare(
    name: str,
    samples: Sequence[float],
    against: str,
    base: Sequence[float],
    goal: Goal = Goal(),
    *,
    unit: str = "ms",
) -> Comparison:
    """Puts two samples beside each other: of seconds when the unit is `ms`, else of the unit."""
    factor = 1000 if unit == "ms" else 1
    return Comparison(name, against, unit, *_percentiles(samples, factor), *_percentiles(base, factor), goal)


def print_table(comparisons: Sequence[Comparison]) -> None:
    """Prints two lines per comparison: the numbers, then what they are measured against and the goals.

    `base` is what a row is measured against, `ratio` is p50 by base p50, `p95 ratio` p95 by base p95.
    """
    print(f"{'what':<56} {'p50':>8} {'p95':>8} {'base p50':>9} {'base p95':>9} {'ratio':>7} {'p95 ratio':>9}")
    for item in comparisons:
        print(
            f"{f'{item.name} [{item.unit}]':<56} {item.p50:>8.1f} {item.p95:>8.1f} {item.base_p50:>9.1f} "
            f"{item.base_p95:>9.1f} {item.ratio:>7.2f} {item.p95_ratio:>9.2f}"
        )
        print(f"    against {item.against}; {item.verdict or 'no goal'}", flush=True)


def write_json(comparisons: Sequence[Comparison], path: Path) -> None:
    """Writes the numbers beside the table."""
    rows = [
        {**asdict(item), "ratio": item.ratio, "p95_ratio": item.p95_ratio, "missed": item.missed}
        for item in comparisons
    ]
    path.write_text(json.dumps(rows, indent=2) + "\n")


def main(measure: Callable[[], Awaitable[Sequence[Comparison]]]) -> None:
    """Runs one script from the command line and writes its JSON; exit code 1 when a goal was missed."""

    async def run() -> Sequence[Comparison]:
        return await measure()

    say_how_busy()
    measured = asyncio.run(run())
    print_table(measured)
    write_json(measured, Path(f"benchmarks-{Path(sys.argv[0]).stem}.json"))
    if any(item.missed for item in measured):
        sys.exit(1)


def say_how_busy() -> None:
    """Says so when others are at work on this machine: goals are for a quiet one."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    print(f"Measuring; load {load:.1f} on {cores} cores.", flush=True)
    if load > cores / 2:
        print("The machine is busy: what is missed now may be met on a quiet one.", flush=True)


def _percentiles(samples: Sequence[float], factor: float) -> tuple[float, float]:
    ordered = sorted(samples)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
    return statistics.median(ordered) * factor, p95 * factor
