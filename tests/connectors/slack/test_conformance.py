"""Slack holds to what every Connector has to hold to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar

from dexbridge.connectors import BoundOperation, slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.conformance import ConnectorConformance, Example, Reach
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import ErrorCode, html
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, SEEDED_THREAD

REPLY = "1710000001.000200"
REPLY_GONE = "1710000009.000100"
THREAD: dict[str, Any] = {"channel_id": SEEDED_CHANNEL, "thread_timestamp": SEEDED_THREAD}
NOT_READ: dict[str, Reach] = {"providerRejected": ErrorCode("is_archived"), "invalidResponse": html()}
NOT_POSTED: dict[str, Reach] = {"providerRejected": {"channel_id": "C0999999999"}}


class TestSlack(ConnectorConformance[LocalSlack]):
    definition = slack.SLACK
    examples: ClassVar = {
        "listThreadMessages": Example(THREAD, NOT_READ),
        "getThreadReply": Example(
            {**THREAD, "reply_timestamp": REPLY}, {**NOT_READ, "notFound": {"reply_timestamp": "1710000009.000200"}}
        ),
        "postChannelMessage": Example({"channel_id": SEEDED_CHANNEL, "text": "Hello"}, NOT_POSTED),
        "postThreadReply": Example(
            {**THREAD, "text": "On its way."}, {**NOT_POSTED, "sentOutsideThread": {"thread_timestamp": REPLY_GONE}}
        ),
    }

    def new_server(self) -> LocalSlack:
        server = LocalSlack()
        server.workspace.post(SEEDED_CHANNEL, "A reply", thread_ts=SEEDED_THREAD, ts=REPLY)
        return server

    def new_connection(self, server: LocalSlack) -> MemoryConnection:
        return MemoryConnection(
            "slack", "support-slack", configuration={"endpoint": server.endpoint}, credentials=server.tokens
        )

    def bind(self, held: MemoryConnection, http_timeout: timedelta) -> Sequence[BoundOperation]:
        connection = slack.new_project_connection(MemoryProject(held), "support-slack", http_timeout=http_timeout)
        return (
            connection.list_thread_messages(),
            connection.get_thread_reply(),
            connection.post_channel_message(),
            connection.post_thread_reply(),
        )

    def count_written(self, server: LocalSlack) -> int:
        return len(server.posts) - 1
