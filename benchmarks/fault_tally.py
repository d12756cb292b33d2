"""What came of a run of the fault harness."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

__all__ = ["Tally"]


@dataclass
class Tally:
    """What came of a run."""

    kills: int = 0
    turns: int = 0
    approved: int = 0
    posts: int = 0
    duplicates: int = 0
    lost_approved_calls: int = 0
    wrong_outcomes: int = 0
    broken_transcripts: int = 0
    unresolved_unknowns: int = 0
    wrongly_told: int = 0
    outages: int = 0
    lost_commits: int = 0
    results_to_waiting_clis: int = 0
    results_to_new_clis: int = 0
    outcomes: dict[str, int] = field(default_factory=dict[str, int])
    reasons: dict[str, int] = field(default_factory=dict[str, int])
    points: dict[str, int] = field(default_factory=dict[str, int])
    faults: list[str] = field(default_factory=list[str])

    def add(self, other: Mapping[str, Any]) -> None:
        """Adds another run's."""
        for name, value in other.items():
            mine = getattr(self, name)
            if isinstance(mine, int):
                setattr(self, name, mine + value)
            elif isinstance(mine, dict):
                counts = Counter(cast("dict[str, int]", mine))
                counts.update(cast("dict[str, int]", value))
                setattr(self, name, dict(counts))
            else:
                mine.extend(value)

    def to_json(self) -> str:
        return json.dumps(asdict(self))
