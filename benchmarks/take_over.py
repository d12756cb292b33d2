"""How long a turn stands still when its Worker is killed and another one on the same PostgreSQL takes it over.

Run alone with `python -m benchmarks.take_over`.
"""

from __future__ import annotations

import asyncio
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

_ROUNDS = 3
_GOAL_SECONDS = 15.0
_POINTS = {"a segment": "after-first-segment", "a tool call": "before-effect"}


async def _stood_still(sessions: AgentSessionClient, url: str, folder: Path, point: str, session_id: str) -> float:
    """From the kill to the next event of the turn."""
    reached = folder / f"reached {point}"
    reached.unlink(missing_ok=True)
    await sessions.start_session(session_id)
    async with worker_process(url, folder, "armed", "lost") as lost:
        await sessions.send_user_message(session_id, f'call cancel_order {{"order_id": "{point}"}}')
        if point == "before-effect":
            async for event in sessions.read_events(session_id, follow=True):
                if event.kind is EventKind.INTERRUPT_OPENED:
                    await sessions.resolve_interrupt(session_id, event.data["interrupt_id"], approved=True)
                    break
        while not reached.exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        async with worker_process(url, folder, "nowhere", "next"):
            after = (await sessions.get_snapshot(session_id)).last_event
            began = time.perf_counter()
            lost.kill()
            async for _ in sessions.read_events(session_id, after=after, follow=True):
                return time.perf_counter() - began
    raise AssertionError


async def measure(rounds: int = _ROUNDS) -> Sequence[Comparison]:
    """Nothing without a PostgreSQL."""
    if "PostgreSQL" not in DATABASES:
        return []
    flow = AgentSessionFlow("support", ScriptedRunner(), OfferedTools([]))
    comparisons: list[Comparison] = []
    with new_database("PostgreSQL") as url, tempfile.TemporaryDirectory() as folder:
        async with open_engine(url, [flow], run_steps=False) as engine:
            sessions = AgentSessionClient(engine)
            for name, point in _POINTS.items():
                took = [
                    await _stood_still(sessions, url, Path(folder), point, f"{point}-{number}")
                    for number in range(rounds)
                ]
                comparisons.append(
                    compare(f"{name} killed -> the turn goes on elsewhere", took, "15 s", [_GOAL_SECONDS], Goal(1))
                )
    return comparisons


if __name__ == "__main__":
    main(measure)
