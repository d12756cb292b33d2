"""The Steps of a session's Flow as Dex knows them; what they do is in `StepRun`, and in `sessions/steps` behind it."""

from __future__ import annotations

from typing import Protocol

import dex

from dexbridge.sessions.engines.dex.kept.schema import DECISIONS
from dexbridge.sessions.engines.dex.kept.stored import Due, decode

__all__ = [
    "STEP_CLASSES",
    "AwaitToolApproval",
    "CallSingleAttemptTool",
    "CallTool",
    "FinishSession",
    "Recover",
    "ResumeTurn",
    "RunModel",
    "StepWork",
    "session_steps",
]


class StepWork(Protocol):
    """What the Steps ask for."""

    async def run(self, context: dex.AsyncContext, due: Due, *, recovering: bool) -> None:
        """Runs the Step that is due, commits what it changes and so starts the Step that follows."""
        ...

    async def open_interrupt(self, context: dex.AsyncContext, due: Due) -> bool:
        """Opens the interrupt of an AwaitToolApproval; `True` when it waits for a person now."""
        ...


class _SessionStep(dex.Step[str]):
    """A Step of a session. The commit inside it starts what follows, so its own path always ends here."""

    def __init__(self, work: StepWork) -> None:
        self._work = work

    async def execute(  # pyright: ignore[reportIncompatibleMethodOverride] - as the SDK wants async Steps
        self,
        context: dex.AsyncContext,
        input: str,  # noqa: A002 - the SDK's name
    ) -> dex.StepDecision:
        await self._work.run(context, decode(Due, input, context.flow_id), recovering=False)
        return dex.dead_end()


class RunModel(_SessionStep):
    """One segment of the agent framework."""


class CallTool(_SessionStep):
    """A call that may be repeated."""


class CallSingleAttemptTool(_SessionStep):
    """A call that must never be made twice; Dex gives it one attempt, and a failed one to `Recover`."""


class ResumeTurn(_SessionStep):
    """Goes back to the model with the recorded result."""


class AwaitToolApproval(_SessionStep):
    """Waits for a person on the interrupt's own Channel."""

    async def wait_for(  # pyright: ignore[reportIncompatibleMethodOverride] - as the SDK wants async Steps
        self,
        context: dex.AsyncContext,
        input: str,  # noqa: A002 - the SDK's name
    ) -> dex.Wait:
        due = decode(Due, input, context.flow_id)
        if await self._work.open_interrupt(context, due):
            return dex.Wait.until(DECISIONS.for_one(due.step))
        return dex.Wait.skip_immediately()


class Recover(_SessionStep):
    """Goes on after a Step whose attempts are used up, under that Step's own identity.

    The attempt ledger says what may have left: an open row is looked up and never sent again; without a row nothing
    was sent, since a row is committed before every request.
    """

    async def execute(  # pyright: ignore[reportIncompatibleMethodOverride] - as the SDK wants async Steps
        self,
        context: dex.AsyncContext,
        input: str,  # noqa: A002 - the SDK's name
    ) -> dex.StepDecision:
        await self._work.run(context, decode(Due, input, context.flow_id), recovering=True)
        return dex.dead_end()


class FinishSession(dex.Step[str]):
    """Closes the Flow of a session that was pruned."""

    async def execute(  # pyright: ignore[reportIncompatibleMethodOverride] - as the SDK wants async Steps
        self,
        context: dex.AsyncContext,
        input: str,  # noqa: A002 - the SDK's name
    ) -> dex.StepDecision:
        del context, input
        return dex.force_complete()


STEP_CLASSES: dict[str, type[dex.Step[str]]] = {
    step.__name__: step for step in (RunModel, AwaitToolApproval, CallTool, CallSingleAttemptTool, ResumeTurn)
}


def session_steps(work: StepWork) -> dex.StepList[None]:
    """All Steps of a session's Flow. None starts it: a session begins by waiting for a message."""
    return dex.StepList[None].without_start_step(
        RunModel(work),
        AwaitToolApproval(work),
        CallTool(work),
        CallSingleAttemptTool(work),
        ResumeTurn(work),
        Recover(work),
        FinishSession(),
    )
