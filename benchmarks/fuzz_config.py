"""Inspects random broken connection files and checks what must hold for each: `make fuzz-config`.

Usage: python -m benchmarks.fuzz_config [RUNS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from dexbridge.connectors import installed_connectors
from tests.fakes.connection_files import Mutated, check_mutated, mutated_files


def main(runs: int) -> None:
    """Runs the property and prints what was seen."""
    connectors = installed_connectors()
    seen: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:

        @settings(
            max_examples=runs,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
        )
        @given(mutated_files())
        def look(mutated: Mutated) -> None:
            nonlocal slowest
            start = time.perf_counter()
            inspection = check_mutated(mutated, Path(folder), connectors)
            slowest = max(slowest, time.perf_counter() - start)
            seen["files"] += 1
            seen["refused" if inspection.errors else "accepted"] += 1
            seen.update({str(one.code) for one in inspection.diagnostics})

        look()
    files, refused, accepted = seen.pop("files"), seen.pop("refused"), seen.pop("accepted", 0)
    print(f"{files} files: {refused} refused, {accepted} accepted, slowest {slowest * 1000:.0f} ms")
    for code, count in sorted(seen.items()):
        print(f"  {code}: {count}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
