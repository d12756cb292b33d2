"""Numbers as ratios taken in one run: this machine's speed cancels out, its noise does not."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Comparison", "compare", "print_table", "write_json"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One quantity beside the quantity it is measured against; times in milliseconds."""

    name: str
    against: str
    p50: float
    p95: float
    base_p50: float
    base_p95: float
    goal: float | None = None

    @property
    def ratio(self) -> float:
        """Ratio of the medians."""
        return self.p50 / self.base_p50


def compare(
    name: str, samples: Sequence[float], against: str, base: Sequence[float], goal: float | None = None
) -> Comparison:
    """Puts two samples, in seconds, beside each other."""
    return Comparison(name, against, *_percentiles(samples), *_percentiles(base), goal)


def print_table(comparisons: Sequence[Comparison]) -> None:
    """Prints one line per comparison."""
    print(f"{'what':<52} {'p50 ms':>8} {'p95 ms':>8} {'base p50':>9} {'base p95':>9} {'ratio':>7} {'goal':>6}")
    for item in comparisons:
        goal = "" if item.goal is None else f"{item.goal:.2f}"
        print(
            f"{item.name:<52} {item.p50:>8.1f} {item.p95:>8.1f} {item.base_p50:>9.1f} {item.base_p95:>9.1f} "
            f"{item.ratio:>7.2f} {goal:>6}"
        )
        print(f"    against: {item.against}")


def write_json(comparisons: Sequence[Comparison], path: Path) -> None:
    """Writes the numbers beside the table."""
    path.write_text(json.dumps([{**asdict(item), "ratio": item.ratio} for item in comparisons], indent=2) + "\n")


def _percentiles(samples: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(samples)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
    return statistics.median(ordered) * 1000, p95 * 1000
