"""An operation's own retry policy decides how long a Step waits between attempts, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from time import monotonic
from typing import Any

import pytest

from dexbridge.connectors import Attempt, BoundOperation, Dispatch, FailureKind, RetryPolicy
from dexbridge.toolsource import OutcomeKind, connector_tool
from tests.fakes.connector import Letter, bound_get, bound_post
from tests.sessions.conftest import Opening

ASK = '{"to": "Ada", "text": "hello"}'
Bind = Callable[..., BoundOperation]


def get(send: Any, **retry: Any) -> BoundOperation:
    return bound_get(send=send, **retry)


def post(send: Any, **retry: Any) -> BoundOperation:
    return bound_post(send=send, retry=RetryPolicy(**retry))


@pytest.mark.parametrize("bind", [get, post])
@pytest.mark.parametrize(
    ("retry", "waits"),
    [
        ({"initial": 0.05, "factor": 4.0}, [0.05, 0.2]),
        ({"initial": 0.1, "factor": 10.0, "maximum": 0.15}, [0.1, 0.15]),
        ({"initial": 0.3, "within": 0.2}, []),
        ({"initial": 0.1, "factor": 9.0, "within": 0.5}, [0.1]),
        ({"initial": 0.02, "factor": 1.0, "attempts": 2}, [0.02]),
        ({"initial": 0.02, "factor": 1.0, "attempts": 9}, [0.02, 0.02]),
    ],
)
async def test_the_waits_are_the_operation_s_own(
    opening: Opening, bind: Bind, retry: dict[str, float], waits: list[float]
) -> None:
    at: list[float] = []

    async def busy(dispatch: Dispatch[Letter]) -> Attempt:
        at.append(monotonic())
        return dispatch.retry(FailureKind.AVAILABILITY, "busy.")

    words = {"initial", "maximum", "within"}
    policy = {name: timedelta(seconds=value) if name in words else value for name, value in retry.items()}
    bound = bind(busy, **policy)
    tool = connector_tool(bound, bound.reference)
    async with opening(tool) as talk:
        await talk.ask(f"call {tool.name} {ASK}")
        call = (await talk.snapshot()).calls[-1]
    assert (call.outcome, call.attempts) == (OutcomeKind.FAILED, len(waits) + 1)
    found = [after - before for before, after in pairwise(at)]
    assert all(wait <= real < wait + 0.8 for wait, real in zip(waits, found, strict=True))


def test_a_policy_s_waits_grow_to_their_maximum() -> None:
    policy = RetryPolicy(initial=timedelta(seconds=2), factor=3, maximum=timedelta(seconds=10))
    assert [policy.pause_after(n).total_seconds() for n in (1, 2, 3, 2_000)] == [2, 6, 10, 10]
