"""From a tool's result in hand to the next request at the model's API: bare SDK, a waiting process, a cold resume.

Run alone with `python -m benchmarks.turnaround` (or `make bench-turnaround`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from benchmarks.claude_stage import Ours, Stage, bare_turn, calls_once, open_ours, open_stage
from benchmarks.report import Comparison, Goal, compare, main
from dexbridge.claude import CliProcesses
from dexbridge.toolsource import ToolEffect, ToolPolicy

__all__ = ["measure"]

_ROUNDS = 20
_GOAL = Goal(ratio=2.0, p95_ratio=3.0)
_COLD = CliProcesses(park_call=timedelta(0), park_approval=timedelta(0))
_POLICY = {"note": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE, requires_approval=False)}


async def _both(stage: Stage, ours: Ours, rounds: int) -> tuple[list[float], list[float]]:
    """Takes the two in turns, so that a busy machine disturbs both alike."""
    undurable: list[float] = []
    durable: list[float] = []
    note = stage.note()
    for number in range(rounds + 1):
        await bare_turn(stage, note)
        bare = stage.model.requests[-1].received_at - stage.ended[-1]
        await ours.turn()
        # The first round pays for imports and cold caches.
        if number:
            undurable.append(bare)
            durable.append(stage.model.requests[-1].received_at - stage.ended[-1])
    return durable, undurable


async def measure(rounds: int = _ROUNDS) -> Sequence[Comparison]:
    """Measures with a process that waits, then without."""
    against = "the same tool called in the process of the bare SDK, not recorded"
    measured: list[Comparison] = []
    async with open_stage(calls_once("note", {"text": "x"})) as stage:
        for name, processes, goal in (("waiting process", CliProcesses(), _GOAL), ("cold resume", _COLD, Goal())):
            async with open_ours(
                stage, processes=processes, custom_tools=[stage.note()], tool_policies=_POLICY
            ) as ours:
                durable, undurable = await _both(stage, ours, rounds)
            measured.append(compare(f"result in hand -> next model request, {name}", durable, against, undurable, goal))
    return measured


if __name__ == "__main__":
    main(measure)
