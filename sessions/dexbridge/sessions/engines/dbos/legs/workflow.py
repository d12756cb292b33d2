"""One leg as a DBOS workflow: from an accepted message or decision to the answer or the next wait.

Source: architecture decision 9. The workflow is started twice under two IDs: at once by the process that accepted or
heard of it, and by the queue, enqueued in the accepting transaction, for a process that died in between. Whichever
claims the leg first runs it; the other finds it claimed and ends. Processes that start it under one ID at once are one
workflow to DBOS: it runs where its row was inserted.
"""

from __future__ import annotations

from typing import Protocol

from dbos import DBOS

__all__ = ["LEG_WORKFLOW", "LegRunner", "direct_id", "queued_id", "queued_leg", "run_leg", "running_here", "serve"]

LEG_WORKFLOW = "dexbridge_leg"


class LegRunner(Protocol):
    """The engine of this process, as the workflow sees it."""

    async def claim(self, session_id: str, leg: int, workflow_id: str) -> int | None:
        """The epoch of the claim; `None` when the leg is not this workflow's to run."""
        ...

    async def run_step(self, session_id: str, leg: int, epoch: int, step_execution_id: str) -> str | None:
        """Runs a Step unless it is committed already; returns the next one of the leg."""
        ...


_serving: list[LegRunner] = []
_running: set[str] = set()


def serve(runner: LegRunner | None) -> None:
    """Sets the engine whose Steps the workflows of this process run; `None` when it closes."""
    _serving[:] = [] if runner is None else [runner]


def running_here() -> frozenset[str]:
    """The workflows that run in this process, each under its ID."""
    return frozenset(_running)


def direct_id(session_id: str, leg: int) -> str:
    """ID of the workflow that is started at once, by the accepting process or one that hears of the leg."""
    return f"dexbridge:{session_id}:leg-{leg}:direct"


def queued_id(session_id: str, leg: int) -> str:
    """ID of the workflow that the queue starts."""
    return f"dexbridge:{session_id}:leg-{leg}:queued"


def queued_leg(workflow_id: str) -> tuple[str, int]:
    """Session and number of the leg that such a workflow runs."""
    session_id, _, leg = workflow_id.removeprefix("dexbridge:").removesuffix(":queued").rpartition(":leg-")
    return session_id, int(leg)


@DBOS.workflow(name=LEG_WORKFLOW)
async def run_leg(session_id: str, leg: int, first_step: str) -> None:
    """Runs the Steps of a leg.

    None of them is a DBOS step: our commit of a Step is its record, in one transaction with all that it changes, and a
    workflow that is recovered goes on with the Step that is due. A second record beside it could only disagree.
    """
    runner = _serving[0]
    workflow_id = DBOS.workflow_id
    assert workflow_id is not None
    _running.add(workflow_id)
    try:
        # A recovered workflow must claim again, or it could not be told from the one it replaces.
        epoch = await runner.claim(session_id, leg, workflow_id)
        if epoch is None:
            return
        step: str | None = first_step
        while step is not None:
            step = await runner.run_step(session_id, leg, epoch, step)
    finally:
        _running.discard(workflow_id)
