"""How Dex runs each Step: how long, how often, and where a failure leads. Durations are whole seconds.

Options that go with a movement replace a Step's own, so each set here is whole.
"""

from __future__ import annotations

import math
from datetime import timedelta

import dex

from dexbridge.connectors import RetryPolicy
from dexbridge.sessions.engines.dex.steps import Recover
from dexbridge.sessions.flow import AgentSessionFlow, SessionLimits
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.steps.attempt import retry_policy
from dexbridge.toolsource import AgentTool

__all__ = ["HEARTBEAT_SECONDS", "SHORT", "step_options"]

HEARTBEAT_SECONDS = 8.0
"""How often a Step that runs says so; the SDK's server wants at least one per heartbeat timeout."""

_HEARTBEAT_TIMEOUT = timedelta(seconds=30)
_GRACE_SECONDS = 60
_SINGLE_ATTEMPT = dex.RetryPolicy(maximum_attempts=1)
# A dispatch that found no Worker costs an attempt as well, and a session must outlive a day without Workers.
_PATIENT = dex.RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=30),
    maximum_attempts=1_000_000,
    total_duration=timedelta(days=3650),
)
# Bounds of sessions/steps/call_single_attempt_tool.py and call_tool.py.
_LOOK_UP_WITHIN = 120
_QUESTIONS = 3

SHORT = dex.StepOptions(
    wait_for_method_timeout=timedelta(seconds=_GRACE_SECONDS),
    execute_method_timeout=timedelta(seconds=_GRACE_SECONDS),
    wait_for_retry=_PATIENT,
    execute_retry=_PATIENT,
    wait_for_durability=dex.StepDurability.SYNC,
    execute_durability=dex.StepDurability.SYNC,
)
"""For a Step that only commits."""


def step_options(flow: AgentSessionFlow, state: SessionState, step: StepType) -> dex.StepOptions:
    """The options of the movement to that Step.

    A single attempt is one attempt with synchronous durability, whose failure leads to `Recover`. A repeatable call
    gets as many attempts as its operation allows, and then `Recover` too.
    """
    tool = None if state.call is None else flow.tools.find(state.call.tool)
    match step:
        case StepType.RUN_MODEL:
            return _long(_segment_seconds(flow.limits), _PATIENT)
        case StepType.CALL_TOOL | StepType.CALL_SINGLE_ATTEMPT_TOOL:
            seconds = _call_seconds(flow.limits, tool)
            once = step is StepType.CALL_SINGLE_ATTEMPT_TOOL
            retry = _SINGLE_ATTEMPT if once or tool is None else _repeated(tool)
            return _long(seconds, retry).on_execute_failure_proceed_to(Recover, _long(seconds, _PATIENT))
        case StepType.AWAIT_TOOL_APPROVAL | StepType.RESUME_TURN:
            return SHORT


def _long(seconds: int, retry: dex.RetryPolicy) -> dex.StepOptions:
    return dex.StepOptions(
        execute_method_timeout=timedelta(seconds=seconds),
        heartbeat_timeout=_HEARTBEAT_TIMEOUT,
        execute_retry=retry,
        execute_durability=dex.StepDurability.SYNC,
    )


def _repeated(tool: AgentTool) -> dex.RetryPolicy:
    policy = retry_policy(tool)
    return dex.RetryPolicy(
        initial_interval=_whole_seconds(policy.initial),
        backoff_coefficient=policy.factor,
        maximum_interval=_whole_seconds(policy.maximum),
        maximum_attempts=max(1, tool.attempts),
    )


def _whole_seconds(wait: timedelta) -> timedelta:
    return timedelta(seconds=math.ceil(wait.total_seconds()))


def _segment_seconds(limits: SessionLimits) -> int:
    return math.ceil((limits.run_model.total_seconds() * 1.25 + 11) * limits.segment_attempts) + _GRACE_SECONDS


def _call_seconds(limits: SessionLimits, tool: AgentTool | None) -> int:
    request = 30.0 if tool is None else tool.timeout.total_seconds() + 1
    attempts = 1 if tool is None else max(1, tool.attempts)
    look_up = request + limits.reconcile_margin.total_seconds() + _LOOK_UP_WITHIN + _QUESTIONS * request
    retries = (RetryPolicy() if tool is None else retry_policy(tool)).within.total_seconds()
    return math.ceil(attempts * request + retries + max(0.0, look_up)) + _GRACE_SECONDS
