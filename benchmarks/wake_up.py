"""From a message to the event of its answer when the client and the Worker are two processes, beside one process.

Run alone with `python -m benchmarks.wake_up`.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.databases import DATABASES, new_database
from benchmarks.report import Comparison, Goal, compare, main
from benchmarks.worker_process import worker_process
from dexbridge.sessions import AgentSessionClient, AgentSessionFlow, EventKind, open_engine
from dexbridge.toolsource import OfferedTools
from tests.fakes.scripted_runner import ScriptedRunner

__all__ = ["measure"]

_TURNS = 40
_GOALS = {"SQLite": Goal(p50=150), "PostgreSQL": Goal(p50=50)}


async def _turns(sessions: AgentSessionClient, session_id: str, turns: int) -> list[float]:
    await sessions.start_session(session_id)
    took: list[float] = []
    after = 0
    for number in range(turns + 1):
        # Not in step with anything that looks at intervals.
        time.sleep(random.uniform(0, 0.1))  # noqa: ASYNC251
        began = time.perf_counter()
        await sessions.send_user_message(session_id, "hello")
        async for event in sessions.read_events(session_id, after=after, follow=True):
            after = event.sequence
            if event.kind is EventKind.TURN_ANSWERED:
                # The first one waits for what is started when it is first needed.
                took += [time.perf_counter() - began] if number else []
                break
    return took


async def measure(turns: int = _TURNS) -> Sequence[Comparison]:
    """On each database that is there. A model of no duration answers."""
    flow = AgentSessionFlow("support", ScriptedRunner(), OfferedTools([]))
    comparisons: list[Comparison] = []
    for database in DATABASES:
        with new_database(database) as url, tempfile.TemporaryDirectory() as folder:
            async with open_engine(url, [flow]) as engine:
                one = await _turns(AgentSessionClient(engine), "one", turns)
            async with (
                worker_process(url, Path(folder)),
                open_engine(url, [flow], run_steps=False) as engine,
            ):
                two = await _turns(AgentSessionClient(engine), "two", turns)
        comparisons.append(
            compare(f"message -> answer, two processes, {database}", two, "one process", one, _GOALS[database])
        )
    return comparisons


if __name__ == "__main__":
    main(measure)
