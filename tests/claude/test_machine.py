"""What this process may use is a container's share, not its host's."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from dexbridge.claude.processes.machine import available_memory, usable_cores, usable_memory

GIBIBYTE = 2**30


@pytest.mark.parametrize("name", ["memory.max", "memory/memory.limit_in_bytes"])
def test_a_limit_of_the_control_group_counts(tmp_path: Path, name: str) -> None:
    limit = tmp_path / name
    limit.parent.mkdir(exist_ok=True)
    limit.write_text(f"{GIBIBYTE}\n")
    assert usable_memory(tmp_path) == GIBIBYTE


@pytest.mark.parametrize("unlimited", ["max\n", "9223372036854771712\n", ""])
def test_without_a_limit_it_is_the_machines(tmp_path: Path, unlimited: str) -> None:
    (tmp_path / "memory.max").write_text(unlimited)
    assert usable_memory(tmp_path) == usable_memory(tmp_path / "absent") == psutil.virtual_memory().total


def test_what_is_available_is_the_least_of_machine_and_control_group(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n")
    assert available_memory(tmp_path, meminfo) == 4 * GIBIBYTE
    (tmp_path / "memory.max").write_text(f"{3 * GIBIBYTE}\n")
    (tmp_path / "memory.current").write_text(f"{2 * GIBIBYTE}\n")
    assert available_memory(tmp_path, meminfo) == GIBIBYTE
    (tmp_path / "memory.stat").write_text(f"anon 1\ninactive_file {GIBIBYTE}\n")
    assert available_memory(tmp_path, meminfo) == 2 * GIBIBYTE
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory(tmp_path, meminfo) == 4 * GIBIBYTE
    assert available_memory(tmp_path / "absent", tmp_path / "absent") == psutil.virtual_memory().total
    assert 0 < available_memory() <= psutil.virtual_memory().total


def test_the_cores_are_those_it_may_run_on() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert usable_cores() == len(before)
