"""The disk under a SQLite file is full while a call is under way."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dexbridge.sessions import DatabaseUnavailable
from dexbridge.toolsource import AttemptResult, Dispatch, OutcomeKind
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.sessions.conftest import Database, Opening, Talk, until
from tests.sessions.logged import logged

CANCEL = 'call cancel_order {"order_id": "7"}'


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 4 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, check=False, capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("a disk of the test's own needs root (mount -t tmpfs)")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> Path:
    rest = disk / "rest"
    with rest.open("wb", buffering=0) as file:
        for size in (65536, 4096, 512):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return rest


async def start_for_ever(talk: Talk) -> None:
    for number in itertools.count():
        await talk.client.start_session(f"more-{number}")


@pytest.mark.slow
async def test_it_is_said_once_and_once_that_it_is_over(opening: Opening, small_disk: Path) -> None:
    with logged() as said:
        async with opening(through=Database(f"sqlite:///{small_disk}/sessions.db", small_disk)) as talk:
            assert await talk.ask("hello") == "you said hello"
            rest = fill(small_disk)
            with pytest.raises(DatabaseUnavailable, match="the disk is full"):
                await start_for_ever(talk)
            await asyncio.sleep(6)
            assert len(said) == 1
            rest.unlink()
            await until(lambda: len(said) > 1, seconds=30)
            assert await talk.ask("and now?") == "you said and now?"
    assert said[0].startswith("The database fails: the disk is full")
    assert said[1].startswith("The database works again, after ")
    assert len(said) == 2


@pytest.mark.slow
async def test_an_answer_outlives_a_full_disk(opening: Opening, small_disk: Path) -> None:
    in_call, end_call = asyncio.Event(), asyncio.Event()

    async def function(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        in_call.set()
        await end_call.wait()
        return succeeded("done")

    tool = FunctionTool(function=function)
    async with opening(tool, through=Database(f"sqlite:///{small_disk}/sessions.db", small_disk)) as talk:
        await talk.say(CANCEL)
        await in_call.wait()
        rest = fill(small_disk)
        with pytest.raises(DatabaseUnavailable, match="full"):
            await start_for_ever(talk)
        end_call.set()
        await asyncio.sleep(12)
        assert (await talk.snapshot()).calls == ()
        rest.unlink()
        assert await talk.answer() == "done"
        (call,) = (await talk.snapshot()).calls
        assert (call.outcome, call.attempts, call.found_by) == (OutcomeKind.SUCCEEDED, 1, "answer")
        assert (len(tool.dispatches), tool.questions) == (1, [])
