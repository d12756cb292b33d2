"""A short run of the fault harness; `make faults` runs the long one."""

from __future__ import annotations

from pathlib import Path

from benchmarks.fault_lane import run_lane


async def test_a_few_kills_break_nothing(tmp_path: Path) -> None:
    tally = await run_lane(f"sqlite:///{tmp_path}/sessions.db", kills=2, seed=5, talks=2)
    assert tally.faults == []
    assert tally.kills == 2
    assert tally.turns >= 2
    found = (tally.duplicates, tally.lost_approved_calls, tally.wrong_outcomes, tally.broken_transcripts)
    assert found == (0, 0, 0, 0)
    assert sum(tally.outcomes.values()) == tally.turns
