"""The five Steps, as engines run them."""

from dexbridge.sessions.steps.broken import broken_step
from dexbridge.sessions.steps.context import Step, StepContext
from dexbridge.sessions.steps.execution import STEPS, run_step

__all__ = ["STEPS", "Step", "StepContext", "broken_step", "run_step"]
