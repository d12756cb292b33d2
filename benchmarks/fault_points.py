"""The moments at which the fault harness kills a Worker. Each is seen from outside; no product code knows of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Engine, NullPool, create_engine, text

from dexbridge.claude.testing import ScriptedModel
from dexbridge.connectors.testing.local_slack import LocalSlack

__all__ = ["POINTS", "Observed"]

STEPS = ("RunModel", "AwaitToolApproval", "CallSingleAttemptTool", "ResumeTurn")
_LOOK_SECONDS = 0.003
_GIVE_UP_SECONDS = 20.0


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
        self._counts: Mapping[str, Callable[[], Awaitable[int]]] = counts

    async def reached(self, point: str, rng: random.Random) -> bool:
        """Waits for the point; `False` when nothing came to it."""
        if point == "at a random time":
            await asyncio.sleep(rng.uniform(0, 3))
            return True
        count = self._counts[point]
        before = await count()
        try:
            async with asyncio.timeout(_GIVE_UP_SECONDS):
                while await count() == before:  # noqa: ASYNC110 - another process reaches it
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            return False
        # Right at it, or a little inside what follows.
        await asyncio.sleep(rng.choice([0, 0, rng.uniform(0, 0.05), rng.uniform(0, 0.5)]))
        return True

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
    "in a segment",
    "in the segment after the result",
    "at the row of the ledger",
    "when Slack got the request",
    "when Slack has the message",
    "at a decision",
    "while it waits",
    "at the end of a turn",
    *(f"after {step}" for step in STEPS),
    "at a random time",
    "at a random time",
)


def open_for_reading(url: str) -> Engine:
    """The database, as a person with a SQL shell sees it."""
    if url.startswith("sqlite"):
        return create_engine(url, connect_args={"timeout": 30})
    return create_engine(
        url.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT", poolclass=NullPool
    )
