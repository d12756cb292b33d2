"""The five Steps, and the table engines run them by."""

from collections.abc import Mapping

from dexbridge.sessions.step import StepType
from dexbridge.sessions.steps.await_tool_approval import await_tool_approval
from dexbridge.sessions.steps.broken import broken_step
from dexbridge.sessions.steps.call_single_attempt_tool import call_single_attempt_tool
from dexbridge.sessions.steps.call_tool import call_tool
from dexbridge.sessions.steps.context import Step, StepContext
from dexbridge.sessions.steps.resume_turn import resume_turn
from dexbridge.sessions.steps.run_model import run_model

__all__ = ["STEPS", "Step", "StepContext", "broken_step"]

STEPS: Mapping[StepType, Step] = {
    StepType.RUN_MODEL: run_model,
    StepType.AWAIT_TOOL_APPROVAL: await_tool_approval,
    StepType.CALL_TOOL: call_tool,
    StepType.CALL_SINGLE_ATTEMPT_TOOL: call_single_attempt_tool,
    StepType.RESUME_TURN: resume_turn,
}
