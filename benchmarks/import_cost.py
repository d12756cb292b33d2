"""What importing the tools' room costs, in CPU time of a new process.

Usage: python -m benchmarks.import_cost
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.report import Comparison, Goal, compare, main

ROUNDS = 15
GOAL = 150.0
OURS = "import dexbridge.toolsource"
# What no tool source can do without, so that a slow or busy machine does not count as ours.
BASE = "import asyncio\nfrom pydantic import BaseModel\nclass Model(BaseModel):\n    field: int = 0"


def _seconds(code: str) -> float:
    """CPU seconds of some code in a new process, its start not counted."""
    program = f"import time\nbegan = time.process_time()\n{code}\nprint(time.process_time() - began)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(done.stdout)


async def measure() -> list[Comparison]:
    """The one comparison."""
    ours: list[float] = []
    base: list[float] = []
    for _ in range(ROUNDS):
        ours.append(_seconds(OURS))
        base.append(_seconds(BASE))
    return [
        compare("importing dexbridge.toolsource, CPU", ours, "asyncio and a model of pydantic", base, Goal(p50=GOAL))
    ]


if __name__ == "__main__":
    main(measure)
