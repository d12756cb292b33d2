"""Runs every built-in Mutation that can be looked up against random sequences of faults.

    python -m benchmarks.connector_faults [--sequences 200] [--seed 1]

The truth is what the local provider holds at the end; see `play_sequences`.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from dexbridge.connectors.testing.conformance import ConnectorConformance, play_sequences
from tests.connectors.github.test_conformance import TestGitHub
from tests.connectors.slack.test_conformance import TestSlack

SUITES: Final[tuple[ConnectorConformance[Any], ...]] = (TestGitHub(), TestSlack())


def main() -> int:
    """Prints a tally for each Mutation; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(description="The built-in Connectors against random faults.")
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong = 0
    for suite in SUITES:
        for operation in suite.definition.operations:
            if operation.can_reconcile:
                tally = play_sequences(suite, operation.operation_id, count=options.sequences, seed=options.seed)
                counts = ", ".join(f"{name} {count}" for name, count in sorted(tally.outcomes.items()))
                print(f"{operation.tool_name}: {tally} ({counts})")
                for line in tally.wrong:
                    print(f"  {line}")
                wrong += len(tally.wrong) + tally.duplicates
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
