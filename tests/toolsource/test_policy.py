"""The policy of one tool: its values are checked where they are written."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dexbridge.toolsource import (
    ConnectorToolSource,
    InvalidToolDefinition,
    OfferedTools,
    ToolEffect,
    ToolPolicy,
    connector_tool,
)
from tests.fakes.connector import bound_post
from tests.fakes.function_tool import FunctionTool

WRITE = ToolEffect.NON_IDEMPOTENT_WRITE


@pytest.mark.parametrize("timeout", [None, timedelta(microseconds=1), timedelta(minutes=20), timedelta(days=1)])
def test_a_timeout_is_longer_than_nothing_and_at_most_a_day(timeout: timedelta | None) -> None:
    assert ToolPolicy(WRITE, timeout=timeout).timeout == timeout


@pytest.mark.parametrize("timeout", [timedelta(0), timedelta(seconds=-1), timedelta(days=1, seconds=1), 600, "10m"])
def test_another_is_refused(timeout: Any) -> None:
    with pytest.raises(InvalidToolDefinition, match="timeout must be a timedelta longer than 0, up to a day, or None"):
        ToolPolicy(WRITE, timeout=timeout)


def test_all_that_is_wrong_with_a_policy_is_named_at_once() -> None:
    with pytest.raises(InvalidToolDefinition) as refused:
        ToolPolicy("read", requires_approval="yes", timeout=600)  # pyright: ignore[reportArgumentType]
    assert all(part in str(refused.value) for part in ("ToolEffect.READ", "'yes'", "600"))


def test_the_timeout_of_a_connector_tool_is_its_operations() -> None:
    operation = bound_post()
    tool = connector_tool(operation, operation.reference)
    policies = {tool.name: ToolPolicy(WRITE, timeout=timedelta(minutes=20)), "other": ToolPolicy(WRITE)}
    with pytest.raises(InvalidToolDefinition) as refused:
        OfferedTools([FunctionTool(), FunctionTool()], [ConnectorToolSource([tool])], policies)
    first, second, third = str(refused.value).splitlines()
    assert "'mail_post_letter' sets a timeout, but its operation has its own, 0.5 s: leave it out" in first
    assert "Two tools are called 'cancel_order'" in second
    assert "tool_policies names 'other'" in third
