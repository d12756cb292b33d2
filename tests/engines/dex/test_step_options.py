"""Dex waits for a tool Step as long as all of its attempts may take."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from dexbridge.sessions import AgentSessionFlow
from dexbridge.sessions.engines.dex.step_options import step_options
from dexbridge.sessions.state.step import StepType
from dexbridge.toolsource import OfferedTools, connector_tool
from tests.fakes.connector import bound_get
from tests.fakes.function_tool import FunctionTool
from tests.fakes.scripted_runner import ScriptedRunner


@pytest.mark.parametrize(("step", "attempts"), [(StepType.CALL_SINGLE_ATTEMPT_TOOL, 1), (StepType.CALL_TOOL, 3)])
@pytest.mark.parametrize("timeout", [timedelta(minutes=20), timedelta(days=1)])
def test_a_long_tool_is_waited_for(step: StepType, attempts: int, timeout: timedelta) -> None:
    tool = FunctionTool(name="export", attempts=attempts, timeout=timeout)
    flow = AgentSessionFlow("exports", ScriptedRunner(), OfferedTools([tool]))
    state: Any = SimpleNamespace(call=SimpleNamespace(tool="export"))
    limit = step_options(flow, state, step).execute_method_timeout
    assert limit is not None
    assert limit > attempts * timeout + timedelta(minutes=1)


def test_dex_waits_between_attempts_as_the_operation_says() -> None:
    bound = bound_get(
        initial=timedelta(seconds=3.5), factor=3.0, maximum=timedelta(minutes=2), within=timedelta(days=1)
    )
    tool = connector_tool(bound, bound.reference)
    flow = AgentSessionFlow("letters", ScriptedRunner(), OfferedTools([tool]))
    state: Any = SimpleNamespace(call=SimpleNamespace(tool=tool.name))
    options = step_options(flow, state, StepType.CALL_TOOL)
    assert options.execute_retry is not None
    waits = (options.execute_retry.initial_interval, options.execute_retry.maximum_interval)
    assert waits == (timedelta(seconds=4), timedelta(minutes=2))
    assert (options.execute_retry.backoff_coefficient, options.execute_retry.maximum_attempts) == (3.0, 3)
    assert options.execute_method_timeout is not None
    assert options.execute_method_timeout > timedelta(days=1)
