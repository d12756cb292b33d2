"""Workers whose clocks are off: it is said, and no call is judged by two clocks."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dexbridge.toolsource import OutcomeKind
from tests.sessions.conftest import Database, until
from tests.sessions.worker_processes import call, effects, faked, visitor, worker

DATABASES = ("postgres",)


@pytest.mark.slow
@pytest.mark.parametrize(("clock", "words"), [("-30s", "30 s behind"), ("+30s", "30 s ahead of")])
async def test_a_worker_whose_clock_is_off_says_so_once_and_works(database: Database, clock: str, words: str) -> None:
    async with visitor(database) as talk, worker(database, "free", clock=clock):
        assert await talk.ask(call("7")) == "done with 7"
        # Two signs of life more.
        await asyncio.sleep(4.5)
    log = (database.folder / "ready.log").read_text()
    assert log.count("The clock of this machine") == log.count(f"is {words} the database's") == 1
    assert effects(database).count("effect 7") == 1


@pytest.mark.slow
@pytest.mark.parametrize("clocks", [("-30s", None), ("+30s", None), (None, "-30s"), (None, "+30s"), ("-30s", "+30s")])
async def test_a_lost_workers_request_may_be_under_way_for_as_long_as_by_one_clock(
    database: Database, clocks: tuple[str | None, str | None]
) -> None:
    lost, next_one = clocks
    async with visitor(database) as talk:
        async with worker(database, "free armed", clock=lost):
            await talk.say(call("before-effect"))
            await until((database.folder / "reached before-effect").exists)
        async with worker(database, clock=next_one):
            await talk.answer()
        (record,) = (await talk.snapshot()).calls
    assert record.outcome is OutcomeKind.OUTCOME_UNKNOWN
    (seconds,) = (database.folder / "asked").read_text().split()
    # The window of 1 s, the tool's 20 s and the margin, less what it took to start the next Worker.
    assert 6 < float(seconds) < 21.1


def test_a_clock_that_is_set_back_makes_no_late_request_look_early(tmp_path: Path) -> None:
    script = """
import select, sys
from datetime import UTC, datetime, timedelta
from dexbridge.connectors import Call
from dexbridge.connectors.contract.errors import DispatchTooLate
before = datetime.now(UTC)
call = Call("f", "s", "slack", "postThreadReply", dispatch_before=before + timedelta(seconds=0.2))
call.ensure_dispatchable()
with open(sys.argv[1], "w") as clock:
    clock.write("-60s")
select.select([], [], [], 0.4)
assert datetime.now(UTC) < before
try:
    call.ensure_dispatchable()
except DispatchTooLate as late:
    print(late)
"""
    clock = tmp_path / "clock"
    clock.write_text("+0s")
    environment = {**os.environ, **faked("+0s"), "FAKETIME_NO_CACHE": "1", "FAKETIME_TIMESTAMP_FILE": str(clock)}
    del environment["FAKETIME"]
    done = subprocess.run(
        [sys.executable, "-c", script, str(clock)], env=environment, stdout=subprocess.PIPE, check=True
    )
    assert b"was due to leave 0." in done.stdout
