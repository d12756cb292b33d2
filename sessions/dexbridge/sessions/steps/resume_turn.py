"""ResumeTurn: a call has its result; decides what comes next."""

from __future__ import annotations

from dexbridge.sessions.state import SessionState
from dexbridge.sessions.step import StepType
from dexbridge.sessions.steps.context import StepContext, completed
from dexbridge.sessions.transition import Change, Transition

__all__ = ["resume_turn"]


async def resume_turn(context: StepContext) -> Change:
    """Returns to RunModel, which gives the model the recorded result."""

    def change(state: SessionState) -> Transition:
        return Transition(state.with_due(StepType.RUN_MODEL), events=(completed(context),))

    return change
