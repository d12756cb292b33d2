"""A SQLite file that is damaged, deleted or replaced."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from dexbridge.sessions import AgentSessionClient, DatabaseUnavailable, open_engine
from tests.sessions.conftest import Database, Opening, Talk, flow_of
from tests.sessions.logged import logged

PAGE = 4096


def damage(file: Path, first: int, pages: int | None = None) -> bytes:
    """Overwrites pages of a file, to its end if it is not said how many; returns what it holds then."""
    held = file.read_bytes()
    length = len(held) - first * PAGE if pages is None else pages * PAGE
    file.write_bytes(held[: first * PAGE] + b"\xa5" * length + held[first * PAGE + length :])
    return file.read_bytes()


def remove(file: Path) -> None:
    file.unlink()


def move(file: Path, to: Path) -> None:
    file.rename(to)


def is_there(file: Path) -> bool:
    return file.exists()


def replace_by_copy(file: Path) -> None:
    copy = file.read_bytes()
    file.unlink()
    file.write_bytes(copy)


async def test_a_damaged_file_is_said_to_be_and_is_left_as_it_is(opening: Opening, file: Path) -> None:
    async with opening() as talk:
        assert await talk.ask("hello") == "you said hello"
    before = damage(file, 1)
    for run_steps in (True, False):
        with pytest.raises(DatabaseUnavailable, match="the file is damaged") as raised:
            async with open_engine(f"sqlite:///{file}", [flow_of([])], run_steps=run_steps):
                pass
        assert raised.value.__suppress_context__
    assert damage(file, 1) == before


async def test_one_damaged_page_is_said_when_it_is_met(opening: Opening, database: Database, file: Path) -> None:
    async with opening() as talk:
        assert await talk.ask("hello") == "you said hello"
    (first,) = database.rows("select rootpage from sqlite_master where name = 'dexbridge_messages'")
    damage(file, first[0] - 1, 1)
    async with opening() as talk:
        with pytest.raises(DatabaseUnavailable, match="the file is damaged"):
            await talk.snapshot()


async def test_a_file_that_is_none_of_sqlite_is_said_to_be(text_file: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="no SQLite database"):
        async with open_engine(f"sqlite:///{text_file}", [flow_of([])]):
            pass


@pytest.fixture
def text_file(tmp_path: Path) -> Iterator[Path]:
    text = tmp_path / "sessions.yaml"
    text.write_text("sessions: []\n" * 1000)
    yield text
    assert text.read_text() == "sessions: []\n" * 1000


@pytest.mark.parametrize("run_steps", [True, False])
async def test_nothing_is_taken_once_the_file_is_gone(opening: Opening, file: Path, run_steps: bool) -> None:
    async with opening() as talk:
        assert await talk.ask("hello") == "you said hello"
    with logged() as said:
        async with open_engine(f"sqlite:///{file}", [flow_of([])], run_steps=run_steps) as engine:
            talk = Talk(AgentSessionClient(engine))
            remove(file)
            for ask in (partial(talk.say, "more"), talk.snapshot, partial(talk.client.start_session, "s-2")):
                with pytest.raises(DatabaseUnavailable, match=r"is gone while .*, put the file back"):
                    await ask()
            # Nor does a process that comes now find an empty place to leave a message in.
            if run_steps:
                assert "a Worker process still has it open" in await refused_to_another(file, "leave")
                assert "Another Worker process serves" in await refused_to_another(file, "ask")
            await asyncio.sleep(3)
    assert not is_there(file)
    (only,) = said
    assert only.startswith(f"The database fails: its file {file} is gone")


async def test_a_worker_whose_file_was_replaced_says_so(opening: Opening, file: Path) -> None:
    async with opening() as talk:
        assert await talk.ask("hello") == "you said hello"
        replace_by_copy(file)
        with pytest.raises(DatabaseUnavailable, match="was replaced by another file"):
            await talk.say("more")


async def test_a_file_that_is_put_back_goes_on(opening: Opening, file: Path) -> None:
    async with opening() as talk:
        assert await talk.ask("hello") == "you said hello"
        move(file, file.with_suffix(".elsewhere"))
        with pytest.raises(DatabaseUnavailable, match="is gone"):
            await talk.say("more")
        move(file.with_suffix(".elsewhere"), file)
        assert await talk.ask("and now?") == "you said and now?"


async def refused_to_another(file: Path, how: str) -> str:
    """What a process is told that opens the file and says something; one process holds one engine."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.fakes.one_turn",
        how,
        f"sqlite:///{file}",
        "lost",
        cwd=Path(__file__).parents[2],
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 1
    return said.decode().strip().splitlines()[-1]
