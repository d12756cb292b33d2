"""ResumeTurn: a call has its result; decides what comes next."""

from __future__ import annotations

from dexbridge.sessions.changes.turns import take_steering
from dexbridge.sessions.changes.withdrawal import stop_at_limit, stop_turn
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Change, Transition
from dexbridge.sessions.steps.context import StepContext, completed

__all__ = ["resume_turn"]


async def resume_turn(context: StepContext) -> Change:
    """Returns to RunModel, which gives the model the recorded result, and what the user said meanwhile."""

    def change(state: SessionState) -> Transition:
        if state.cancelling:
            return stop_turn(state, completed(context))
        if state.ending is not None:
            return stop_at_limit(state, completed(context))
        moved, said = take_steering(state)
        return Transition(moved.with_due(StepType.RUN_MODEL), messages=said, events=(completed(context),))

    return change
