"""`make faults`: kills Workers at every Step boundary and inside every Step, and CLIs that wait; compares what is left.

    python -m benchmarks.faults [--kills 200] [--seed 1]

Real Worker processes with the real CLI, a scripted Messages API and a local Slack; SIGKILL; half of the runs lose
answers of Slack as well. SQLite (one Worker, started again) and PostgreSQL (two Workers, one of them killed each time)
run side by side, the latter when DEXBRIDGE_TEST_POSTGRES names a server. Exit code 1 when an invariant was broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import NullPool, create_engine, make_url, text

from benchmarks.fault_lane import Tally, run_lane
from benchmarks.fault_points import POINTS

__all__ = ["main"]

_ROOT = Path(__file__).parents[1]


@contextmanager
def new_postgres(server: str) -> Generator[str]:
    """A new database on the server; dropped at the end."""
    name = f"dexbridge_faults_{uuid.uuid4().hex}"
    admin_url = make_url(server).set(drivername="postgresql+psycopg")
    admin = create_engine(admin_url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with admin.connect() as connection:
        connection.execute(text(f"create database {name}"))
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.execute(text(f"drop database {name} with (force)"))


async def _lane(database: str, kills: int, seed: int, drops: bool) -> Tally:
    """A lane of its own process: a process has one engine."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.faults", "--lane", database, "--kills", str(kills), "--seed", str(seed)),
        *(["--drops"] if drops else []),
        cwd=_ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await child.communicate()
    tally = Tally()
    if child.returncode != 0 or not out:
        tally.faults.append(f"the lane on {database} stopped with exit code {child.returncode}")
    else:
        tally.add(json.loads(out.splitlines()[-1]))
    return tally


async def _both_halves(database: str, kills: int, seed: int) -> list[tuple[str, Tally]]:
    first = await _lane(database, kills - kills // 2, seed, drops=False)
    second = await _lane(database, kills // 2, seed + 1, drops=True)
    return [(f"{database}, Slack answers", first), (f"{database}, answers dropped", second)]


def _run_child(database: str, kills: int, seed: int, drops: bool) -> None:
    if database == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/sessions.db"
            print(asyncio.run(run_lane(url, kills, seed, drops=drops)).to_json())
    else:
        with new_postgres(os.environ["DEXBRIDGE_TEST_POSTGRES"]) as url:
            print(asyncio.run(run_lane(url, kills, seed, workers=2, talks=5, drops=drops)).to_json())


def _print(name: str, tally: Tally) -> None:
    print(
        f"{name:<28} kills {tally.kills:>4}  turns {tally.turns:>4}  posts {tally.posts:>4}  "
        f"duplicates {tally.duplicates}  lost approved calls {tally.lost_approved_calls}  "
        f"wrong outcomes {tally.wrong_outcomes}  broken transcripts {tally.broken_transcripts}  "
        f"unresolved unknowns {tally.unresolved_unknowns}"
    )


async def _run(kills: int, seed: int) -> bool:
    began = time.monotonic()
    databases = ["sqlite", *(["postgres"] if os.environ.get("DEXBRIDGE_TEST_POSTGRES") else [])]
    share = -(-kills // len(databases))
    halves = await asyncio.gather(*(_both_halves(each, share, seed + 10 * n) for n, each in enumerate(databases)))
    total = Tally()
    for name, tally in [pair for half in halves for pair in half]:
        _print(name, tally)
        total.add(json.loads(tally.to_json()))
    _print("all", total)
    print(f"outcomes: {total.outcomes}")
    print(f"results given to waiting CLIs {total.results_to_waiting_clis}, to new ones {total.results_to_new_clis}")
    for reason, count in total.reasons.items():
        print(f"unknown, {count} times: {reason}")
    print("kills by point: " + ", ".join(f"{point} {count}" for point, count in sorted(total.points.items())))
    if kills >= 4 * len(POINTS):
        total.faults += [f"nothing was killed {point.name}" for point in POINTS if point.name not in total.points]
    for fault in total.faults:
        print(f"FAULT: {fault}")
    if "postgres" not in databases:
        print("PostgreSQL was left out: DEXBRIDGE_TEST_POSTGRES is empty, run `make services`.")
    print(f"{time.monotonic() - began:.0f} s")
    return not total.faults and total.kills >= kills


def main() -> None:
    """Runs it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lane", choices=["sqlite", "postgres"], help=argparse.SUPPRESS)
    parser.add_argument("--drops", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.lane is not None:
        _run_child(given.lane, given.kills, given.seed, given.drops)
    elif not asyncio.run(_run(given.kills, given.seed)):
        sys.exit(1)


if __name__ == "__main__":
    main()
