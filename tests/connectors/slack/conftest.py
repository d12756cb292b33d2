"""Making one Slack call and looking at what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dexbridge.connectors import Attempt, BoundOperation, Call, Reconciliation, slack

Arguments = dict[str, Any]
CallFor = Callable[[BoundOperation], Call]


@pytest.fixture
def reply_arguments() -> Arguments:
    return {"channel_id": "C0123456789", "thread_timestamp": "1710000000.000100", "text": "On its way."}


@pytest.fixture
def reply(
    connection: slack.Connection, reply_arguments: Arguments, call_for: CallFor
) -> Callable[..., Awaitable[Attempt]]:
    """Posts one thread reply; keyword arguments replace the usual ones."""

    async def post(**changes: Any) -> Attempt:
        bound = connection.post_thread_reply()
        return await bound.dispatch(call_for(bound), bound.validate({**reply_arguments, **changes}))

    return post


@pytest.fixture
def look_for_reply(
    connection: slack.Connection, reply_arguments: Arguments, call_for: CallFor
) -> Callable[..., Awaitable[Reconciliation]]:
    """Reconciles the call `reply` makes; its request ended `ended_ago` seconds ago, and it may wait `patience`."""

    async def look(*, ended_ago: float = 10, opened_ago: float = 20, patience: float = 0) -> Reconciliation:
        bound = connection.post_thread_reply()
        now = datetime.now(UTC)
        return await bound.reconcile(
            call_for(bound),
            bound.validate(reply_arguments),
            opened_at=now - timedelta(seconds=opened_ago),
            ended_by=now - timedelta(seconds=ended_ago),
            give_up_at=now + timedelta(seconds=patience),
        )

    return look
