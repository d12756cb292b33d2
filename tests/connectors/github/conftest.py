"""A local GitHub, a connection to it, and comments on its issue."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dexbridge.connectors import Attempt, BoundOperation, Call, Reconciliation, github
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_github import SEEDED_ISSUE, SEEDED_REPOSITORY, LocalGitHub

HTTP_TIMEOUT = timedelta(seconds=0.5)
CallFor = Callable[[BoundOperation], Call]


@pytest.fixture
async def server() -> AsyncIterator[LocalGitHub]:
    async with LocalGitHub() as local:
        yield local


@pytest.fixture
async def held(server: LocalGitHub) -> AsyncIterator[MemoryConnection]:
    """The project's side of the connection: where a test rotates the token."""
    connection = MemoryConnection(
        "github",
        "engineering",
        configuration={"endpoint": server.url, "maxResponseBytes": 65_536},
        credentials=server.tokens,
    )
    yield connection
    await connection.aclose()


@pytest.fixture
def connection(held: MemoryConnection) -> github.Connection:
    return github.new_project_connection(MemoryProject(held), "engineering", http_timeout=HTTP_TIMEOUT)


@pytest.fixture
def issue() -> dict[str, Any]:
    return {"repository": SEEDED_REPOSITORY, "issue_number": SEEDED_ISSUE}


@pytest.fixture
def comment(
    connection: github.Connection, issue: dict[str, Any], call_for: CallFor
) -> Callable[..., Awaitable[Attempt]]:
    """Adds one comment; keyword arguments replace the usual ones."""

    async def add(**changes: Any) -> Attempt:
        bound = connection.add_issue_comment()
        return await bound.dispatch(call_for(bound), bound.validate({**issue, "body": "On its way.", **changes}))

    return add


@pytest.fixture
def look_for_comment(
    connection: github.Connection, issue: dict[str, Any], call_for: CallFor
) -> Callable[..., Awaitable[Reconciliation]]:
    """Reconciles the call `comment` makes; its request ended `ended_ago` seconds ago, and it may wait `patience`."""

    async def look(
        *, ended_ago: float = 10, opened_ago: float = 20, body: str = "On its way.", patience: float = 0
    ) -> Reconciliation:
        bound = connection.add_issue_comment()
        now = datetime.now(UTC)
        return await bound.reconcile(
            call_for(bound),
            bound.validate({**issue, "body": body}),
            opened_at=now - timedelta(seconds=opened_ago),
            ended_by=now - timedelta(seconds=ended_ago),
            give_up_at=now + timedelta(seconds=patience),
        )

    return look
