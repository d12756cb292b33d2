"""What a Worker costs that has nothing to do, beside DBOS alone with nothing to do.

Run alone with `python -m benchmarks.idle_load`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, NullPool, create_engine, make_url, text

from benchmarks.databases import DATABASES, new_database
from benchmarks.report import Comparison, Goal, compare, main
from benchmarks.worker_process import worker_process

__all__ = ["measure"]

_DBOS_LOOKS_OFTEN_SECONDS = 62.0
"""For so long after its start DBOS looks for schedules every second, whatever is set."""

_WINDOW_SECONDS = 10.0
_WINDOWS = 4
_ALONE = Path(__file__).with_name("dbos_alone.py")
_AGAINST = "DBOS alone with nothing to do"
_TRANSACTIONS = Goal(more=3)
_CPU = Goal(more=1)


@dataclass(frozen=True)
class _Load:
    """Per window: commits and roll-backs a second of the database (none on SQLite), and percent of a core."""

    transactions: list[float]
    cpu: list[float]


async def _load_of(process: asyncio.subprocess.Process, url: str, windows: int) -> _Load:
    await asyncio.sleep(_DBOS_LOOKS_OFTEN_SECONDS)
    name = make_url(url).database if url.startswith("postgresql") else None
    load = _Load([], [])
    admin = (
        create_engine(
            make_url(os.environ["DEXBRIDGE_TEST_POSTGRES"]).set(drivername="postgresql+psycopg"), poolclass=NullPool
        )
        if name
        else None
    )
    for _ in range(windows):
        began, cpu, done = time.monotonic(), _cpu_seconds(process.pid), _transactions(admin, name)
        await asyncio.sleep(_WINDOW_SECONDS)
        took = time.monotonic() - began
        load.cpu.append((_cpu_seconds(process.pid) - cpu) / took * 100)
        if admin is not None:
            load.transactions.append((_transactions(admin, name) - done) / took)
    return load


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _transactions(admin: Engine | None, name: str | None) -> int:
    if admin is None:
        return 0
    query = text("select xact_commit + xact_rollback from pg_stat_database where datname = :name")
    with admin.connect() as connection:
        return int(connection.execute(query, {"name": name}).scalar_one())


async def _worker(database: str, windows: int) -> _Load:
    with new_database(database) as url, tempfile.TemporaryDirectory() as folder:
        async with worker_process(url, Path(folder)) as process:
            return await _load_of(process, url, windows)


async def _alone(database: str, windows: int) -> _Load:
    with new_database(database) as url, tempfile.TemporaryDirectory() as folder:
        ready = Path(folder, "ready")
        process = await asyncio.create_subprocess_exec(sys.executable, str(_ALONE), url, str(ready))
        try:
            while not await asyncio.to_thread(ready.exists):  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.01)
            return await _load_of(process, url, windows)
        finally:
            process.kill()
            await process.wait()


async def measure(windows: int = _WINDOWS) -> Sequence[Comparison]:
    """All at once: they do nothing."""
    waiting = [work(database, windows) for database in DATABASES for work in (_worker, _alone)]
    loads = iter(await asyncio.gather(*waiting))
    comparisons: list[Comparison] = []
    for database in DATABASES:
        worker, alone = next(loads), next(loads)
        comparisons.append(
            compare(f"an idle Worker, {database}", worker.cpu, _AGAINST, alone.cpu, _CPU, unit="% of a core")
        )
        if worker.transactions:
            each = compare(
                f"an idle Worker, {database}",
                worker.transactions,
                _AGAINST,
                alone.transactions,
                _TRANSACTIONS,
                unit="transactions a second",
            )
            comparisons.append(each)
    return comparisons


if __name__ == "__main__":
    main(measure)
