"""The moments at which the fault harness kills. Each is seen from outside; no product code knows of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import psutil
from sqlalchemy import Engine, NullPool, create_engine, text

from dexbridge.claude.testing import ScriptedModel
from dexbridge.connectors.testing.local_slack import LocalSlack

__all__ = ["POINTS", "Observed", "Point", "Victim", "WaitingCli", "points"]

STEPS = ("RunModel", "AwaitToolApproval", "CallSingleAttemptTool", "ResumeTurn")
_WHILE_A_CLI_WAITS = ("while it waits for a person", "while it waits for Slack", "as its result comes")
_LOOK_SECONDS = 0.003
_GIVE_UP_SECONDS = 20.0


class Victim(Enum):
    """What is killed."""

    WORKER = "a Worker"
    WAITING_CLI = "the waiting CLI"
    ITS_WORKER = "the Worker of the waiting CLI"


@dataclass(frozen=True, slots=True)
class Point:
    """A moment, and what is killed at it."""

    moment: str
    victim: Victim = Victim.WORKER

    @property
    def name(self) -> str:
        """As the report has it."""
        return self.moment if self.victim is Victim.WORKER else f"{self.victim.value}, {self.moment}"


@dataclass(frozen=True, slots=True)
class WaitingCli:
    """A CLI whose call has left, and the place of its Worker among the Workers."""

    process: psutil.Process
    worker: int


class Observed:
    """What can be counted from outside; a point is reached when its count grows."""

    def __init__(self, url: str, model: ScriptedModel, slack: LocalSlack) -> None:
        self._database = open_for_reading(url)
        self._model = model
        self._slack = slack
        counts: dict[str, Callable[[], Awaitable[int]]] = {
            "in a segment": self._first_requests,
            "in the segment after the result": self._last_requests,
            "at the row of the ledger": lambda: self._rows("dexbridge_attempts"),
            "when Slack got the request": self._slack_requests,
            "when Slack has the message": self._posts,
            "at a decision": lambda: self._rows("dexbridge_events", "kind = 'interrupt_resolved'"),
            "while it waits": lambda: self._rows("dexbridge_events", "kind = 'interrupt_opened'"),
            "at the end of a turn": lambda: self._rows("dexbridge_events", "kind = 'turn_answered'"),
        }
        for step in STEPS:
            counts[f"after {step}"] = lambda step=step: self._rows(
                "dexbridge_events", f"kind = 'step_completed' and data like '%\"step\": \"{step}\"%'"
            )
        counts["while it waits for a person"] = counts["while it waits"]
        counts["while it waits for Slack"] = counts["when Slack got the request"]
        counts["as its result comes"] = counts["after CallSingleAttemptTool"]
        self._counts: Mapping[str, Callable[[], Awaitable[int]]] = counts

    async def reached(self, moment: str, rng: random.Random) -> bool:
        """Waits for the moment; `False` when nothing came to it."""
        if moment == "at a random time":
            await asyncio.sleep(rng.uniform(0, 3))
            return True
        count = self._counts[moment]
        before = await count()
        try:
            async with asyncio.timeout(_GIVE_UP_SECONDS):
                while await count() == before:  # noqa: ASYNC110 - another process reaches it
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            return False
        # Right at it, or a little inside what follows; a wait for a result is soon over.
        longest = 0.02 if moment in _WHILE_A_CLI_WAITS else 0.5
        await asyncio.sleep(rng.choice([0, 0, rng.uniform(0, longest / 10), rng.uniform(0, longest)]))
        return True

    async def waiting_cli(self, moment: str, workers: Sequence[int]) -> WaitingCli | None:
        """The CLI of the session that has just come to the moment, if it still runs.

        Args:
            moment: One that names a session.
            workers: Process IDs of the Workers.
        """
        session_id = await self._session_at(moment)
        query = f"select state from dexbridge_sessions where session_id = '{session_id}'"
        rows = await asyncio.to_thread(self.rows, query)
        if not rows:
            return None
        conversation_id: str = json.loads(rows[0][0])["conversation_id"]
        for number, pid in enumerate(workers):
            with contextlib.suppress(psutil.Error):
                for child in psutil.Process(pid).children(recursive=True):
                    if any(conversation_id in argument for argument in child.cmdline()):
                        return WaitingCli(child, number)
        return None

    async def _session_at(self, moment: str) -> str:
        if moment == "while it waits for Slack":
            posts = [request for request in self._slack.requests if request.method == "chat.postMessage"]
            # Nothing of it is known when it was dropped before it was read.
            return str(posts[-1].body.get("text", "")).partition(":")[0]
        kind = "'interrupt_opened'" if moment == "while it waits for a person" else "'step_completed'"
        if moment == "as its result comes":
            kind += ' and data like \'%"step": "CallSingleAttemptTool"%\''
        query = f"select session_id from dexbridge_events where kind = {kind} order by at desc limit 1"
        return str((await asyncio.to_thread(self.rows, query))[0][0])

    def rows(self, query: str) -> Sequence[tuple[Any, ...]]:
        """What a query finds."""
        with self._database.connect() as connection:
            return [tuple(row) for row in connection.execute(text(query))]

    def close(self) -> None:
        """Lets go of the database."""
        self._database.dispose()

    async def _rows(self, table: str, where: str = "1 = 1") -> int:
        query = f"select count(*) from {table} where {where}"
        return int((await asyncio.to_thread(self.rows, query))[0][0])

    async def _first_requests(self) -> int:
        return sum(not request.tool_results for request in self._model.requests)

    async def _last_requests(self) -> int:
        return sum(bool(request.tool_results) for request in self._model.requests)

    async def _slack_requests(self) -> int:
        return sum(request.method == "chat.postMessage" for request in self._slack.requests)

    async def _posts(self) -> int:
        return len(self._slack.posts)


POINTS = (
    Point("in a segment"),
    Point("in the segment after the result"),
    Point("at the row of the ledger"),
    Point("when Slack got the request"),
    Point("when Slack has the message"),
    Point("at a decision"),
    Point("while it waits"),
    Point("at the end of a turn"),
    *(Point(f"after {step}") for step in STEPS),
    Point("at a random time"),
    Point("at a random time"),
    *(Point(moment, Victim.WAITING_CLI) for moment in _WHILE_A_CLI_WAITS),
    *(Point(moment, Victim.ITS_WORKER) for moment in _WHILE_A_CLI_WAITS),
)


_WITH_A_PERSON = ("at a decision", "while it waits", "while it waits for a person", "after AwaitToolApproval")


def points(*, asks: bool) -> tuple[Point, ...]:
    """The moments a lane comes to; without approvals nothing waits for a person."""
    return tuple(point for point in POINTS if asks or point.moment not in _WITH_A_PERSON)


def open_for_reading(url: str) -> Engine:
    """The database, as a person with a SQL shell sees it."""
    if url.startswith("sqlite"):
        return create_engine(url, connect_args={"timeout": 30})
    return create_engine(
        url.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT", poolclass=NullPool
    )
