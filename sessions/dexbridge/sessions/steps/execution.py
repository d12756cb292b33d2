"""One execution of a Step, whichever it is; what engines call."""

from __future__ import annotations

from collections.abc import Mapping

from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Change, Refusal, Transition
from dexbridge.sessions.steps.await_tool_approval import await_tool_approval
from dexbridge.sessions.steps.call_single_attempt_tool import call_single_attempt_tool
from dexbridge.sessions.steps.call_tool import call_tool
from dexbridge.sessions.steps.context import Step, StepContext
from dexbridge.sessions.steps.resume_turn import resume_turn
from dexbridge.sessions.steps.run_model import run_model
from dexbridge.sessions.steps.step_graph import may_follow

__all__ = ["STEPS", "run_step"]

STEPS: Mapping[StepType, Step] = {
    StepType.RUN_MODEL: run_model,
    StepType.AWAIT_TOOL_APPROVAL: await_tool_approval,
    StepType.CALL_TOOL: call_tool,
    StepType.CALL_SINGLE_ATTEMPT_TOOL: call_single_attempt_tool,
    StepType.RESUME_TURN: resume_turn,
}


async def run_step(context: StepContext) -> Change:
    """Runs the Step that is due. Its change raises `RuntimeError` if the graph does not have what it leads to."""
    change = await STEPS[context.step.type](context)

    def checked(state: SessionState) -> Transition | Refusal:
        result = change(state)
        if isinstance(result, Transition):
            due = result.state.due
            following = None if due is None else due.type
            if not may_follow(context.step.type, following):
                # No `assert`: Python leaves those out with -O.
                raise RuntimeError(f"{context.step.id} led to {following}, which the graph does not have after it.")
        return result

    return checked
