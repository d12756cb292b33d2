"""Every Connector takes the proxy the environment names, and none past NO_PROXY."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from dexbridge.connectors import Attempt, BoundOperation, BranchTaken, Call, NotConnected, Retry, github, slack
from dexbridge.connectors.http.pool import ANY_TIME, HttpPool
from dexbridge.connectors.http.proxies import proxy_for
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")
PASSWORD = "pass-of-the-proxy"


@dataclass
class Proxy:
    """A proxy that answers every request, and refuses every tunnel."""

    port: int = 0
    heads: list[str] = field(default_factory=list[str])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        status = "403 Forbidden" if head.startswith("CONNECT") else "200 OK"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
        await writer.drain()
        writer.close()


@pytest.fixture
async def proxy(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Proxy]:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    made = Proxy()
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0) as server:
        made.port = server.sockets[0].getsockname()[1]
        yield made


def bound_on(connector: str) -> tuple[MemoryConnection, BoundOperation, dict[str, object]]:
    if connector == "slack":
        held = MemoryConnection(
            "slack", "s", configuration={"endpoint": "https://slack.invalid/api"}, credentials={"bot_token": "xoxb-1"}
        )
        bound = slack.new_project_connection(MemoryProject(held), "s").post_channel_message()
        return held, bound, {"channel_id": "C0123456789", "text": "Hello"}
    held = MemoryConnection(
        "github", "g", configuration={"endpoint": "https://github.invalid"}, credentials={"token": "ghp_" + "a" * 20}
    )
    bound = github.new_project_connection(MemoryProject(held), "g").add_issue_comment()
    return held, bound, {"repository": "octo-org/octo-repo", "issue_number": 1, "body": "Hello"}


async def attempt_on(connector: str) -> Attempt:
    held, bound, arguments = bound_on(connector)
    operation = bound.operation
    attempt = await bound.dispatch(Call("s", "CallTool-1", connector, operation.operation_id), arguments)
    await held.aclose()
    return attempt


@pytest.mark.parametrize("connector", ["slack", "github"])
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "ALL_PROXY", "https_proxy"])
async def test_the_proxy_is_asked_for_the_tunnel_and_its_refusal_sends_nothing(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, connector: str, name: str
) -> None:
    monkeypatch.setenv(name, proxy.url.replace("//", f"//me:{PASSWORD}@"))
    attempt = await attempt_on(connector)
    assert isinstance(attempt, Retry)
    assert "through the proxy" in attempt.failure.message
    (head,) = proxy.heads
    assert head.startswith(f"CONNECT {connector}.invalid:443 ")
    assert f"Basic {base64.b64encode(f'me:{PASSWORD}'.encode()).decode()}" in head
    assert PASSWORD not in repr(attempt)


@pytest.mark.parametrize("connector", ["slack", "github"])
@pytest.mark.parametrize("listed", ["{0}.invalid", ".invalid", "*", "other.example, {0}.invalid"])
async def test_no_proxy_is_followed(proxy: Proxy, monkeypatch: pytest.MonkeyPatch, connector: str, listed: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", listed.format(connector))
    assert isinstance(await attempt_on(connector), Retry)
    assert proxy.heads == []


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1080", "http://", "http://[::1", "ftp://proxy.example"])
async def test_a_proxy_that_cannot_be_used_is_named_and_not_gone_past(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", address)
    attempt = await attempt_on("slack")
    assert isinstance(attempt, Retry)
    assert "ALL_PROXY does not name an HTTP proxy" in attempt.failure.message
    assert "nothing was sent" in attempt.failure.message
    with pytest.raises(NotConnected):
        proxy_for("https://slack.invalid/")


async def test_this_machine_is_reached_directly(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    async with LocalSlack() as server:
        held = MemoryConnection(
            "slack", "s", configuration={"endpoint": server.endpoint}, credentials={"bot_token": server.bot_token}
        )
        bound = slack.new_project_connection(MemoryProject(held), "s").post_channel_message()
        call = Call("s", "CallTool-1", "slack", "postChannelMessage")
        attempt = await bound.dispatch(call, {"channel_id": "C0123456789", "text": "Hello"})
        await held.aclose()
    assert isinstance(attempt, BranchTaken)
    assert attempt.branch == "sent"
    assert proxy.heads == []


async def test_a_plain_request_goes_through_the_proxy(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"127.0.0.1:{proxy.port}")
    pool = HttpPool()
    answer = await pool.request("GET", "http://provider.invalid/a", leave=ANY_TIME)
    await pool.close()
    assert answer.status == 200
    assert proxy.heads[0].startswith("GET http://provider.invalid/a ")
