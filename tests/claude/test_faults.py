"""A short run of the fault harness; `make faults` runs the long one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.fault_lane import run_lane
from benchmarks.faults import LANES, new_postgres


@pytest.mark.slow
async def test_a_few_kills_break_nothing(tmp_path: Path) -> None:
    tally = await run_lane(f"sqlite:///{tmp_path}/sessions.db", kills=2, seed=5, talks=2)
    assert tally.faults == []
    assert tally.kills == 2
    assert tally.turns >= 2
    found = (tally.duplicates, tally.lost_approved_calls, tally.wrong_outcomes, tally.broken_transcripts)
    assert (*found, tally.wrongly_told) == (0, 0, 0, 0, 0)
    assert sum(tally.outcomes.values()) >= tally.turns


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("DEXBRIDGE_TEST_POSTGRES"), reason="PostgreSQL is missing: `make services`")
async def test_a_few_outages_cost_no_outcome() -> None:
    with new_postgres(os.environ["DEXBRIDGE_TEST_POSTGRES"]) as url:
        tally = await run_lane(url, kills=1, seed=3, workers=2, talks=2, drops=False, outages=[2.0, 12.0])
    assert tally.faults == []
    assert (tally.kills, tally.outages, tally.unresolved_unknowns, tally.wrongly_told) == (1, 2, 0, 0)


def test_each_lane_has_a_name_and_a_wrong_one_is_named() -> None:
    command = [sys.executable, "-m", "benchmarks.faults"]
    listed = subprocess.run([*command, "--list"], capture_output=True, text=True, check=True)
    assert listed.stdout.splitlines() == [lane.name for lane in LANES]
    assert {"sqlite", "sqlite-free-drops", "postgres-free", "postgres-outages"} <= set(listed.stdout.splitlines())
    refused = subprocess.run([*command, "mysql"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "There is no lane mysql: name some of sqlite, sqlite-drops" in refused.stderr
