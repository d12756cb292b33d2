"""A local Slack, a connection to it, and calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest

from dexbridge.connectors import BoundOperation, Call, slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack

HTTP_TIMEOUT = timedelta(seconds=0.5)


@pytest.fixture
async def server() -> AsyncIterator[LocalSlack]:
    async with LocalSlack() as local:
        yield local


@pytest.fixture
async def held(server: LocalSlack) -> AsyncIterator[MemoryConnection]:
    """The project's side of the connection: where a test rotates a token."""
    connection = MemoryConnection(
        "slack",
        "support-slack",
        configuration={"endpoint": server.endpoint, "maxResponseBytes": 65_536},
        credentials={"bot_token": server.bot_token, "user_token": server.user_token},
    )
    yield connection
    await connection.aclose()


@pytest.fixture
def connection(held: MemoryConnection) -> slack.Connection:
    return slack.new_project_connection(MemoryProject(held), "support-slack", http_timeout=HTTP_TIMEOUT)


@pytest.fixture
def call_for() -> Callable[[BoundOperation], Call]:
    def new(bound: BoundOperation) -> Call:
        operation = bound.operation
        return Call(
            "session-1",
            "CallSingleAttemptTool-1",
            operation.connector_id,
            operation.operation_id,
            dispatch_before=datetime.now(UTC) + timedelta(seconds=5),
        )

    return new
