"""A write that never reached Slack is proved unsent. Case S13."""

from __future__ import annotations

import asyncio
import socket
from datetime import timedelta
from typing import Any

from dexbridge.connectors import Attempt, Call, FailureKind, Retry, slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


async def _post_to(endpoint: str, *, http_timeout: timedelta = timedelta(seconds=5)) -> Attempt:
    held = MemoryConnection(
        "slack", "away", configuration={"endpoint": endpoint}, credentials={"bot_token": "xoxb-away"}
    )
    connection = slack.new_project_connection(MemoryProject(held), "away", http_timeout=http_timeout)
    bound = connection.post_thread_reply()
    arguments: dict[str, Any] = {
        "channel_id": "C0123456789",
        "thread_timestamp": "1710000000.000100",
        "text": "Hello",
    }
    attempt = await bound.dispatch(Call("s", "CallTool-1", "slack", "postThreadReply"), arguments)
    await held.aclose()
    return attempt


async def test_s13_a_refused_connection_is_a_retry() -> None:
    attempt = await _post_to(f"http://127.0.0.1:{_free_port()}/api")
    assert isinstance(attempt, Retry)
    assert attempt.failure.kind is FailureKind.TRANSPORT
    assert "nothing was sent" in attempt.failure.message


async def test_an_unknown_host_is_a_retry() -> None:
    assert isinstance(await _post_to("https://slack.invalid/api"), Retry)


async def test_a_failing_tls_handshake_is_a_retry(server: LocalSlack) -> None:
    attempt = await _post_to(server.endpoint.replace("http://", "https://"))
    assert isinstance(attempt, Retry)
    assert server.requests == []


async def test_a_handshake_that_never_ends_is_a_retry() -> None:
    waiting: list[asyncio.StreamWriter] = []

    async def keep_silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting.append(writer)

    silent = await asyncio.start_server(keep_silent, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    attempt = await _post_to(f"https://127.0.0.1:{port}/api", http_timeout=timedelta(seconds=0.3))
    for writer in waiting:
        writer.transport.abort()
    silent.close()
    assert isinstance(attempt, Retry)
    assert waiting
