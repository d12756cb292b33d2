"""`make faults`: kills Workers at every Step boundary and inside every Step, and CLIs that wait; compares what is left.

    python -m benchmarks.faults [LANE ...] [--list] [--kills 200] [--seed 1]

Real Worker processes with the real CLI, a scripted Messages API and a local Slack; SIGKILL. The replies have several
blocks, the prompt and some results are long, a session has several turns, and every request must tell the model what
is recorded. A lane is a database (SQLite with one Worker, started again; PostgreSQL with two, one of them killed each
time), with a person who approves each post or without (`free`), and half of the lanes lose answers of Slack as well
(`drops`). Lanes of different databases run side by side; those of PostgreSQL when DEXBRIDGE_TEST_POSTGRES names a
server. Each runs alone by its name. Exit code 1 when an invariant was broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import NullPool, create_engine, make_url, text

from benchmarks.fault_lane import run_lane
from benchmarks.fault_points import POINTS
from benchmarks.fault_tally import Tally

__all__ = ["LANES", "main"]

_ROOT = Path(__file__).parents[1]
_KILLS_OF_A_LANE = 25


@dataclass(frozen=True, slots=True)
class NamedLane:
    """A lane of the harness.

    Attributes:
        asks: Whether a person approves each post.
        drops: Whether answers of Slack are lost.
        outages: Whether the database goes away and answers to COMMITs are lost.
    """

    database: str
    asks: bool
    drops: bool
    outages: bool = False

    @property
    def name(self) -> str:
        """As it is given on the command line."""
        words = {"free": not self.asks, "drops": self.drops, "outages": self.outages}
        return "-".join([self.database, *(word for word, said in words.items() if said)])


LANES = (
    *(
        NamedLane(database, asks, drops)
        for database in ("sqlite", "postgres")
        for asks in (True, False)
        for drops in (False, True)
    ),
    *(NamedLane("postgres", asks, drops=False, outages=True) for asks in (True, False)),
)


def outages_of(lane: NamedLane, kills: int, seed: int) -> list[float]:
    """Lengths of a lane's outages in seconds: two for each kill, of 1 to 10 s, and now and then one of a minute."""
    if not lane.outages:
        return []
    rng = random.Random(seed)
    return [60.0 if number % 34 == 17 else rng.uniform(1, 10) for number in range(2 * kills)]


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


async def _in_a_process(lane: NamedLane, kills: int, seed: int) -> Tally:
    """A lane of its own process: a process has one engine."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.faults", lane.name, "--child"),
        *("--kills", str(kills), "--seed", str(seed)),
        cwd=_ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await child.communicate()
    tally = Tally()
    if child.returncode != 0 or not out:
        tally.faults.append(f"the lane {lane.name} stopped with exit code {child.returncode}")
    else:
        tally.add(json.loads(out.splitlines()[-1]))
    return tally


async def _one_by_one(lanes: Sequence[NamedLane], kills: int, seed: int) -> Tally:
    """Lanes of one database; each says what came of it when it ends."""
    total = Tally()
    for number, lane in enumerate(lanes):
        tally = await _in_a_process(lane, kills, seed + number)
        _print(lane.name, tally)
        total.add(json.loads(tally.to_json()))
    return total


def _run_child(lane: NamedLane, kills: int, seed: int) -> None:
    if lane.database == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/sessions.db"
            print(asyncio.run(run_lane(url, kills, seed, drops=lane.drops, asks=lane.asks)).to_json())
    else:
        with new_postgres(os.environ["DEXBRIDGE_TEST_POSTGRES"]) as url:
            lane_run = run_lane(
                *(url, kills, seed),
                workers=2,
                talks=5,
                drops=lane.drops,
                asks=lane.asks,
                outages=outages_of(lane, kills, seed),
            )
            print(asyncio.run(lane_run).to_json())


def _print(name: str, tally: Tally) -> None:
    print(
        f"{name:<20} kills {tally.kills:>4}  turns {tally.turns:>4}  posts {tally.posts:>4}  "
        f"duplicates {tally.duplicates}  lost approved calls {tally.lost_approved_calls}  "
        f"wrong outcomes {tally.wrong_outcomes}  broken transcripts {tally.broken_transcripts}  "
        f"unresolved unknowns {tally.unresolved_unknowns}  wrongly told {tally.wrongly_told}"
        + (f"  outages {tally.outages}  lost COMMITs {tally.lost_commits}" if tally.outages else ""),
        flush=True,
    )


async def _run(lanes: Sequence[NamedLane], kills: int, seed: int) -> bool:
    began = time.monotonic()
    share = -(-kills // len(lanes))
    databases = [[lane for lane in lanes if lane.database == database] for database in ("sqlite", "postgres")]
    total = Tally()
    for tally in await asyncio.gather(
        *(_one_by_one(each, share, seed + 10 * number) for number, each in enumerate(databases))
    ):
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
    print(f"{time.monotonic() - began:.0f} s")
    return not total.faults and total.wrongly_told == 0 and total.kills >= kills


def main() -> None:
    """Runs it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lanes", nargs="*", metavar="LANE", help="only these; all when none is named")
    parser.add_argument("--list", action="store_true", help="print the names of the lanes")
    parser.add_argument("--kills", type=int, help="in all; 25 in each lane when left out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    by_name = {lane.name: lane for lane in LANES}
    if given.list:
        print("\n".join(by_name))
        return
    if unknown := [name for name in given.lanes if name not in by_name]:
        parser.error(f"There is no lane {', '.join(unknown)}: name some of {', '.join(by_name)}.")
    lanes = [by_name[name] for name in given.lanes] or list(LANES)
    if not os.environ.get("DEXBRIDGE_TEST_POSTGRES"):
        if any(name.startswith("postgres") for name in given.lanes):
            parser.error("DEXBRIDGE_TEST_POSTGRES is empty, run `make services`.")
        print("PostgreSQL is left out: DEXBRIDGE_TEST_POSTGRES is empty, run `make services`.")
        lanes = [lane for lane in lanes if lane.database != "postgres"]
    kills = _KILLS_OF_A_LANE * len(LANES if not given.lanes else lanes) if given.kills is None else given.kills
    if given.child:
        _run_child(lanes[0], kills, given.seed)
    elif not asyncio.run(_run(lanes, kills, given.seed)):
        sys.exit(1)


if __name__ == "__main__":
    main()
