"""The bound of CLI processes follows the memory a container may use, not its host's."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from dexbridge.claude.machine import usable_cores, usable_memory

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


def test_the_cores_are_those_it_may_run_on() -> None:
    assert usable_cores() == len(psutil.Process().cpu_affinity())
