"""One Worker per SQLite file, and clients in other processes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dexbridge.sessions import AgentSessionClient, EventKind, UnsupportedEngine, open_engine
from tests.sessions.conftest import Database, Opening, Talk, flow_of
from tests.sessions.worker_processes import WORKER, visitor, worker


async def second_worker(url: str, database: Database) -> tuple[int | None, str]:
    """Exit code and errors of a Worker process that is started in the database's folder."""
    second = await asyncio.create_subprocess_exec(
        sys.executable,
        str(WORKER),
        url,
        str(database.folder),
        "nowhere",
        "second",
        stderr=asyncio.subprocess.PIPE,
        cwd=database.folder,
    )
    async with asyncio.timeout(30):
        _, said = await second.communicate()
    return second.returncode, said.decode()


def same_name(path: Path) -> str:
    return f"sqlite:///{path}"


def symbolic_link(path: Path) -> str:
    (path.parent / "link.db").symlink_to(path)
    return f"sqlite:///{path.parent}/link.db"


def folder_link(path: Path) -> str:
    (path.parent / "folder").symlink_to(path.parent)
    return f"sqlite:///{path.parent}/folder/{path.name}"


def hard_link(path: Path) -> str:
    (path.parent / "hard.db").hardlink_to(path)
    return f"sqlite:///{path.parent}/hard.db"


def uri(path: Path) -> str:
    return f"sqlite:///file:{path}?uri=true"


def relative_uri(path: Path) -> str:
    return f"sqlite:///file:{path.name}?mode=rwc&uri=true"


def uri_of_this_host(path: Path) -> str:
    return f"sqlite:///file://localhost{path}?uri=true"


NAMES = [same_name, symbolic_link, folder_link, hard_link, uri, relative_uri, uri_of_this_host]


@pytest.mark.parametrize("name", NAMES)
async def test_a_second_worker_is_refused_by_whatever_name_it_calls_the_file(
    database: Database, file: Path, name: Callable[[Path], str]
) -> None:
    async with visitor(database), worker(database):
        code, said = await second_worker(name(file), database)
        assert code == 1
        assert "WorkerAlreadyRunning: Another Worker process serves" in said
    assert not list(file.parent.glob("*file:*"))


@pytest.mark.parametrize("name", [symbolic_link, folder_link, uri, uri_of_this_host])
async def test_another_name_opens_the_same_sessions(
    database: Database, file: Path, name: Callable[[Path], str], opening: Opening
) -> None:
    async with opening() as talk:
        assert await talk.ask("hello") == "you said hello"
    async with open_engine(name(file), [flow_of([])]) as engine:
        assert await Talk(AgentSessionClient(engine)).ask("and now?") == "you said and now?"


async def test_a_hard_link_is_refused_since_what_is_not_in_the_file_yet_would_be_lost(
    database: Database, file: Path, opening: Opening
) -> None:
    async with opening() as talk:
        assert await talk.ask("hello") == "you said hello"
    linked = hard_link(file)
    for run_steps in (True, False):
        with pytest.raises(UnsupportedEngine, match="has several names"):
            async with open_engine(linked, [flow_of([])], run_steps=run_steps):
                pass
    async with opening() as talk:
        assert await talk.ask("and now?") == "you said and now?"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite:///file:x.db?mode=memory&uri=true", "needs a file"),
        ("sqlite:///file::memory:?uri=true", "needs a file"),
        ("sqlite:///file:x.db?nolock=1&uri=true", "'nolock'"),
        ("sqlite:///x.db?mode=ro", "'mode'"),
    ],
)
def test_a_file_that_would_not_keep_what_is_committed_is_refused(url: str, told: str) -> None:
    with pytest.raises(UnsupportedEngine, match=told):
        open_engine(url, [flow_of([])])


async def test_two_processes_on_one_file(database: Database) -> None:
    async with visitor(database) as talk, worker(database):
        seen: list[int] = []

        async def follow() -> None:
            async for event in talk.client.read_events("s-1", follow=True):
                seen.append(event.sequence)
                if event.kind is EventKind.TURN_ANSWERED:
                    return

        following = asyncio.create_task(follow())
        await talk.say("hello")
        code, said = await second_worker(database.url, database)
        assert code == 1
        assert "WorkerAlreadyRunning: Another Worker process serves" in said
        assert "run_steps=False" in said
        await asyncio.wait_for(following, 20)
        assert seen == list(range(1, len(seen) + 1))
