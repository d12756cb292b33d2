"""How long until the model is told that a post was not sent, when its Worker is killed before the request.

The Worker is killed once the row of the ledger is there, while its request goes to a Slack that takes no connection. It
is taken over on PostgreSQL, by a Worker that looks the post up. Run alone with `python -m benchmarks.unsent`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text

from benchmarks.claude_stage import SLACK_ARGUMENTS
from benchmarks.databases import DATABASES, new_database
from benchmarks.fault_points import open_for_reading
from benchmarks.report import Comparison, Goal, compare, main
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.sessions import AgentSessionClient, AgentSessionFlow, open_engine
from dexbridge.toolsource import OfferedTools
from tests.fakes.scripted_runner import ScriptedRunner

__all__ = ["measure"]

_ROUNDS = 2
_GOAL_SECONDS = 25.0
_WORKER = Path(__file__).with_name("unsent_worker.py")
_TAKEN_OVER = "select 1 from dexbridge_sessions where (cast(state as json) -> 'leg' ->> 'number') = '2'"
_KNOWN = "select 1 from dexbridge_attempts where (cast(attempt as json) ->> 'state') = 'ended'"
_CALL = f"call slack_post_thread_reply {json.dumps(SLACK_ARGUMENTS)}"


@asynccontextmanager
async def _worker(url: str, endpoint: str, folder: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(sys.executable, str(_WORKER), url, endpoint, str(folder))
    try:
        await _until((folder / "ready").exists)
        (folder / "ready").unlink()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _until(condition: Callable[[], bool]) -> float:
    while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - another process does it
        await asyncio.sleep(0.01)
    return time.monotonic()


def _rows(database: Engine, query: str) -> Sequence[tuple[Any, ...]]:
    with database.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


async def _one(url: str, folder: Path, slack: LocalSlack) -> Sequence[float]:
    """Seconds from the row until another Worker has the call, until what became of it is known, until it is told."""
    database = open_for_reading(url)
    flow = AgentSessionFlow("support", ScriptedRunner(), OfferedTools([]))

    def found(query: str) -> Callable[[], bool]:
        return lambda: bool(_rows(database, query))

    with socket.create_server(("127.0.0.1", 0), backlog=8) as deaf:
        nowhere = f"http://127.0.0.1:{deaf.getsockname()[1]}/api"
        async with _worker(url, nowhere, folder) as lost, open_engine(url, [flow], run_steps=False) as engine:
            client = AgentSessionClient(engine)
            await client.start_session("s")
            await client.send_user_message("s", _CALL)
            row = await _until(found("select 1 from dexbridge_attempts"))
            async with _worker(url, slack.endpoint, folder):
                lost.kill()
                reached = [
                    await _until(condition)
                    for condition in (
                        found(_TAKEN_OVER),
                        found(_KNOWN),
                        (folder / "told").exists,
                    )
                ]
    assert "not" in (folder / "told").read_text()
    assert slack.posts == []
    database.dispose()
    return [moment - row for moment in reached]


async def measure(rounds: int = _ROUNDS) -> Sequence[Comparison]:
    """Nothing without a PostgreSQL. Seconds from the row of the ledger, at which the Worker is killed."""
    if "PostgreSQL" not in DATABASES:
        return []
    async with LocalSlack() as slack:
        took: list[Sequence[float]] = []
        for _ in range(rounds):
            with new_database("PostgreSQL") as url, tempfile.TemporaryDirectory() as folder:
                took.append(await _one(url, Path(folder), slack))
    parts = ("another Worker has the call", "what became of it is known", "the model is told")
    return [
        compare(
            f"killed before the request -> {part}",
            [each[number] for each in took],
            f"{_GOAL_SECONDS:g} s",
            [_GOAL_SECONDS],
            Goal(1) if number == len(parts) - 1 else Goal(),
            unit="s",
        )
        for number, part in enumerate(parts)
    ]


if __name__ == "__main__":
    main(measure)
