"""GitHub holds to what every Connector has to hold to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar

from dexbridge.connectors import BoundOperation, github
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.conformance import ConnectorConformance, Example, Reach
from dexbridge.connectors.testing.faults import Answer, html
from dexbridge.connectors.testing.local_github import LOCKED_ISSUE, SEEDED_ISSUE, SEEDED_REPOSITORY, LocalGitHub

ISSUE: dict[str, Any] = {"repository": SEEDED_REPOSITORY, "issue_number": SEEDED_ISSUE}
NOT_READ: dict[str, Reach] = {
    "notFound": {"issue_number": 404},
    "providerRejected": Answer(401, '{"message":"Bad credentials"}'),
    "invalidResponse": html(),
}


class TestGitHub(ConnectorConformance[LocalGitHub]):
    definition = github.GITHUB
    examples: ClassVar = {
        "getIssue": Example(ISSUE, NOT_READ),
        "listIssueComments": Example(ISSUE, NOT_READ),
        "addIssueComment": Example(
            {**ISSUE, "body": "Fixed in the next release."}, {"providerRejected": {"issue_number": LOCKED_ISSUE}}
        ),
    }

    def new_server(self) -> LocalGitHub:
        return LocalGitHub()

    def new_connection(self, server: LocalGitHub) -> MemoryConnection:
        return MemoryConnection(
            "github", "engineering", configuration={"endpoint": server.url}, credentials=server.tokens
        )

    def bind(self, held: MemoryConnection, http_timeout: timedelta) -> Sequence[BoundOperation]:
        connection = github.new_project_connection(MemoryProject(held), "engineering", http_timeout=http_timeout)
        return connection.get_issue(), connection.list_issue_comments(), connection.add_issue_comment()

    def count_written(self, server: LocalGitHub) -> int:
        return len(server.comments)
