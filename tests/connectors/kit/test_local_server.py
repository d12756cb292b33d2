"""LocalServer, as an author's stand-in for a provider uses it."""

from __future__ import annotations

import asyncio
import base64
import signal
import subprocess
import sys
from dataclasses import dataclass, replace

import aiohttp
import pytest

from dexbridge.connectors.testing.faults import Answered, DropAfterPost, PostLate, SpoiltAnswer, html
from dexbridge.connectors.testing.local_server import ANY_REQUEST, LocalServer, ReceivedRequest
from dexbridge.connectors.testing.local_slack import LocalSlack


class LocalEcho(LocalServer):
    def __init__(self) -> None:
        super().__init__({"api_key": "key-1", "admin_token": "key-2"})

    def carry_out(self, request: ReceivedRequest) -> Answered:
        return Answered(200, {"kind": request.token_kind, "body": dict(request.body)})


@dataclass(frozen=True)
class Slanted(SpoiltAnswer):
    posted: bool = True

    def spoil(self, answered: Answered) -> Answered:
        return replace(answered, status=299)


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({}, "none"),
        ({"Authorization": "Bearer key-1"}, "api_key"),
        ({"Authorization": "token key-2"}, "admin"),
        ({"X-Api-Key": "key-1"}, "api_key"),
        (basic("me", "key-2"), "admin"),
        (basic("key-1", ""), "api_key"),
        (basic("me", "key-3"), "wrong"),
        ({"Authorization": "Basic ???"}, "wrong"),
        ({"Authorization": "Bearer key-12"}, "wrong"),
    ],
)
async def test_it_knows_whose_credential_came_and_does_not_keep_it(headers: dict[str, str], kind: str) -> None:
    async with LocalEcho() as server, aiohttp.ClientSession() as session:
        answer = await session.post(f"{server.url}/x", json={"a": 1}, headers=headers)
        assert await answer.json() == {"kind": kind, "body": {"a": 1}}
    (request,) = server.requests
    assert (request.method, request.is_authorised) == ("POST /x", kind in {"api_key", "admin"})
    assert not any("key-" in value for value in request.headers.values())


async def test_faults_are_for_one_name_or_any_and_an_authors_own_work() -> None:
    async with LocalEcho() as server, aiohttp.ClientSession() as session:
        server.fail_next("GET /b", Slanted())
        server.fail_next(ANY_REQUEST, html(502))
        server.fail_always(html(418))

        async def status(path: str) -> int:
            async with session.get(f"{server.url}{path}") as answer:
                return answer.status

        assert [await status(path) for path in ("/a", "/b", "/b")] == [502, 299, 418]
        server.fail_always(None)
        assert await status("/b") == 200


async def test_broken_json_and_forms_are_read() -> None:
    async with LocalEcho() as server, aiohttp.ClientSession() as session:
        for body in (b"{", b"[1]", b'"x"'):
            json_type = {"Content-Type": "application/json"}
            async with session.post(f"{server.url}/x", data=body, headers=json_type) as answer:
                assert (await answer.json())["body"] == {}
        async with session.post(f"{server.url}/x", data={"a": "1"}) as answer:
            assert (await answer.json())["body"] == {"a": "1"}
        async with session.get(f"{server.url}/x?a=1") as answer:
            assert (await answer.json())["body"] == {"a": "1"}


async def test_one_can_wait_for_what_is_posted() -> None:
    async with LocalSlack() as server, aiohttp.ClientSession() as session:
        message = {"channel": "C0123456789", "text": "Hello"}
        headers = {"Authorization": f"Bearer {server.bot_token}"}
        server.fail_next("chat.postMessage", PostLate(0.05), DropAfterPost())

        async def post() -> None:
            with pytest.raises(aiohttp.ClientError):
                await session.post(f"{server.endpoint}/chat.postMessage", json=message, headers=headers)

        posting = asyncio.gather(post(), post())
        async with asyncio.timeout(10):
            await server.wait_for_posts(2)
        assert len(server.posts) == 2
        await posting


def test_a_local_github_runs_by_hand() -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "dexbridge.connectors.testing.local_github", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=10)
    assert line.startswith("Local GitHub: endpoint http://127.0.0.1:")
    assert rest.strip().endswith("stopped")
    assert process.returncode == 0
