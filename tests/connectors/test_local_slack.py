"""The local Slack as another process sees it: HTTP and the admin route."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import aiohttp
import pytest

from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import (
    Answer,
    AnswerLate,
    DropAfterPost,
    ErrorCode,
    PostLate,
    fault_from_json,
    fault_to_json,
)
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, SEEDED_THREAD

MESSAGE: dict[str, Any] = {"channel": "C0123456789", "text": "Hello", "thread_ts": "1710000000.000100"}


async def api(session: aiohttp.ClientSession, server: LocalSlack, method: str, **body: Any) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {server.bot_token}"}
    async with session.post(f"{server.endpoint}/{method}", json=body, headers=headers) as response:
        return await response.json()


async def test_faults_are_set_and_posts_are_read_over_http(server: LocalSlack) -> None:
    async with aiohttp.ClientSession() as session:
        order = {"method": "chat.postMessage", "faults": [{"kind": "ErrorCode", "code": "is_archived"}]}
        async with session.post(f"{server.url}/_admin/faults", json=order) as answer:
            assert await answer.json() == {
                "chat.postMessage": [{"kind": "ErrorCode", "code": "is_archived", "posted": False}]
            }
        assert await api(session, server, "chat.postMessage", **MESSAGE) == {"ok": False, "error": "is_archived"}
        assert (await api(session, server, "chat.postMessage", **MESSAGE))["ok"] is True
        async with session.get(f"{server.url}/_admin/posts") as answer:
            (post,) = await answer.json()
        async with session.get(f"{server.url}/_admin/requests") as answer:
            requests = await answer.json()
    assert (post["text"], post["thread_ts"]) == ("Hello", "1710000000.000100")
    assert [(request["method"], request["token_kind"]) for request in requests] == [("chat.postMessage", "bot")] * 2
    assert server.bot_token not in str(requests)


async def test_a_wrong_order_is_explained_and_faults_can_be_cleared(server: LocalSlack) -> None:
    async with aiohttp.ClientSession() as session:
        for order in (
            {},
            {"method": "x", "faults": [{"kind": "Flood"}]},
            {"method": "x", "faults": [{"kind": "Answer", "a": 1}]},
        ):
            async with session.post(f"{server.url}/_admin/faults", json=order) as answer:
                assert answer.status == 400
                assert "DropAfterPost" in await answer.text()
        server.fail_next("auth.test", ErrorCode("x"))
        async with session.delete(f"{server.url}/_admin/faults") as answer:
            assert await answer.json() == {}
        assert (await api(session, server, "auth.test"))["ok"] is True


@pytest.mark.parametrize(
    "fault",
    [DropAfterPost(), AnswerLate(2.5), PostLate(1), ErrorCode("x", posted=True), Answer(429, "", headers={"a": "b"})],
)
def test_a_fault_survives_json(fault: Any) -> None:
    assert fault_from_json(fault_to_json(fault)) == fault


async def test_it_refuses_as_slack_does(server: LocalSlack) -> None:
    async with aiohttp.ClientSession() as session:
        codes = [
            (await api(session, server, "chat.postMessage", **{**MESSAGE, **change}))["error"]
            for change in ({"channel": "C09"}, {"text": " "})
        ]
        assert codes == ["channel_not_found", "no_text"]
        assert (await api(session, server, "files.upload"))["error"] == "unknown_method"
        async with session.post(f"{server.endpoint}/auth.test") as answer:
            assert await answer.json() == {"ok": False, "error": "not_authed"}


async def test_a_reply_stands_where_slack_would_put_it(server: LocalSlack) -> None:
    async with aiohttp.ClientSession() as session:
        reply = (await api(session, server, "chat.postMessage", **MESSAGE))["message"]
        to_reply = (await api(session, server, "chat.postMessage", **{**MESSAGE, "thread_ts": reply["ts"]}))["message"]
        lost = await api(session, server, "chat.postMessage", **{**MESSAGE, "thread_ts": "1710000009.000100"})
        server.workspace.delete(SEEDED_CHANNEL, SEEDED_THREAD)
        late = (await api(session, server, "chat.postMessage", **MESSAGE))["message"]
    assert [each.get("thread_ts") for each in (reply, to_reply, lost["message"], late)] == [
        SEEDED_THREAD,
        SEEDED_THREAD,
        None,
        None,
    ]
    assert lost["ok"]
    left = server.workspace.thread(SEEDED_CHANNEL, SEEDED_THREAD)
    assert left is not None
    assert [post.to_json(with_metadata=False).get("subtype") for post in left] == ["tombstone", None, None]


async def test_it_rewrites_texts_and_can_hide_metadata(server: LocalSlack) -> None:
    server.workspace.post(
        SEEDED_CHANNEL, "🎉 see https://x.example/y or mail a@b.example", metadata={"event_type": "e"}
    )
    seen: list[dict[str, Any]] = []
    async with aiohttp.ClientSession() as session:
        for hides in (False, True):
            server.hides_metadata = hides
            read = await api(
                session, server, "conversations.history", channel=SEEDED_CHANNEL, include_all_metadata=True
            )
            seen.append(read["messages"][0])
    assert seen[0]["text"] == ":tada: see <https://x.example/y> or mail <mailto:a@b.example|a@b.example>"
    assert ["metadata" in message for message in seen] == [True, False]


def test_it_runs_by_hand() -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "dexbridge.connectors.testing.local_slack", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=10)
    assert line.startswith("Local Slack: endpoint http://127.0.0.1:")
    assert rest.strip().endswith("stopped")
    assert process.returncode == 0
