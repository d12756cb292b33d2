"""A local Slack over real HTTP, for tests, demos and trying by hand.

    async with LocalSlack() as slack:
        connection configuration: {"endpoint": slack.endpoint}, credentials: slack.bot_token, slack.user_token

By hand: `python -m dexbridge.connectors.testing.local_slack --port 8790`. From another process, `/_admin/posts`,
`/_admin/requests` and `/_admin/faults` show and steer it.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

from aiohttp import web

from dexbridge.connectors.testing.slack_faults import (
    Answer,
    AnswerLate,
    DropAfterPost,
    DropBeforeRead,
    DropWithoutPost,
    ErrorCode,
    Fault,
    OversizedAnswer,
    PostLate,
    TruncatedAnswer,
    WithoutTimestamp,
    fault_from_json,
    fault_to_json,
)
from dexbridge.connectors.testing.slack_workspace import Post, Workspace

Payload = dict[str, Any]

_BOT_SCOPES: Final = ("channels:history", "groups:history", "channels:read", "users:read", "chat:write")
_USER_SCOPES: Final = ("channels:history", "groups:history")

_NEEDED_SCOPE: Final[Mapping[str, str]] = {
    "chat.postMessage": "chat:write",
    "conversations.replies": "channels:history",
    "conversations.history": "channels:history",
}


@dataclass(frozen=True)
class SlackRequest:
    """One request as it arrived. The token itself is not kept, only whose it was."""

    method: str
    token_kind: str
    body: Mapping[str, Any]


class LocalSlack:
    """A Slack that keeps what is posted and has the faults it is told to have.

    Args:
        port: 0 takes a free one.
        bot_token: the token that may post.
        user_token: the token that may read.
        bot_scopes: what the bot token may do.
        user_scopes: what the user token may do.
        any_thread: replies to a thread it does not hold are taken, as the real Slack does.

    `fail_next(method, fault, ...)` queues faults, one per request of that method. `requests` and `posts` list what
    arrived and what was posted.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        bot_token: str = "xoxb-local-bot-token",  # noqa: S107  (a made-up value of a local server)
        user_token: str = "xoxp-local-user-token",  # noqa: S107
        bot_scopes: tuple[str, ...] = _BOT_SCOPES,
        user_scopes: tuple[str, ...] = _USER_SCOPES,
        any_thread: bool = False,
    ) -> None:
        self.bot_token = bot_token
        self.user_token = user_token
        self.scopes: dict[str, tuple[str, ...]] = {"bot": bot_scopes, "user": user_scopes}
        self.any_thread = any_thread
        self.workspace = Workspace()
        self.requests: list[SlackRequest] = []
        self._faults: dict[str, deque[Fault]] = {}
        self._port = port
        self._request_numbers = itertools.count(1)
        self._runner: web.AppRunner | None = None
        self._late: set[asyncio.Task[None]] = set()

    @property
    def posts(self) -> list[Post]:
        """What was posted since the start, in order."""
        return self.workspace.posts

    @property
    def url(self) -> str:
        """Where the server listens."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def endpoint(self) -> str:
        """The `endpoint` of a Slack connection's configuration."""
        return f"{self.url}/api"

    def fail_next(self, method: str, *faults: Fault) -> None:
        """Queues faults for the next requests of a method, such as `chat.postMessage`."""
        self._faults.setdefault(method, deque()).extend(faults)

    async def settle(self) -> None:
        """Waits until every late post has been made."""
        await asyncio.gather(*self._late)

    async def __aenter__(self) -> LocalSlack:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Begins to listen."""
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.router.add_route("*", "/api/{method}", self._serve)
        app.router.add_get("/_admin/posts", self._admin_posts)
        app.router.add_get("/_admin/requests", self._admin_requests)
        app.router.add_get("/_admin/faults", self._admin_faults)
        app.router.add_post("/_admin/faults", self._admin_add_faults)
        app.router.add_delete("/_admin/faults", self._admin_clear_faults)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Stops listening and forgets late posts."""
        for task in self._late:
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        queue = self._faults.get(method)
        fault = queue.popleft() if queue else None
        kind = self._token_kind(request)
        if isinstance(fault, DropBeforeRead):
            self.requests.append(SlackRequest(method, kind, {}))
            return self._drop(request)
        body = await _read_body(request)
        self.requests.append(SlackRequest(method, kind, body))
        return await self._answer(request, method, kind, body, fault)

    async def _answer(
        self, request: web.Request, method: str, kind: str, body: Payload, fault: Fault | None
    ) -> web.StreamResponse:
        if isinstance(fault, PostLate):
            task = asyncio.create_task(self._carry_out_later(method, kind, body, fault.seconds))
            self._late.add(task)
            task.add_done_callback(self._late.discard)
            await asyncio.shield(task)
            return self._json(kind, {"ok": False, "error": "fatal_error"})
        if isinstance(fault, DropWithoutPost):
            return self._drop(request)
        if isinstance(fault, ErrorCode | Answer | TruncatedAnswer | OversizedAnswer | WithoutTimestamp):
            payload = self._carry_out(method, kind, body) if fault.posted else {"ok": True}
            return await self._faulty(request, kind, fault, payload)
        payload = self._carry_out(method, kind, body)
        if isinstance(fault, DropAfterPost):
            return self._drop(request)
        if isinstance(fault, AnswerLate):
            await asyncio.sleep(fault.seconds)
        return self._json(kind, payload)

    async def _faulty(
        self,
        request: web.Request,
        kind: str,
        fault: ErrorCode | Answer | TruncatedAnswer | OversizedAnswer | WithoutTimestamp,
        payload: Payload,
    ) -> web.StreamResponse:
        if isinstance(fault, ErrorCode):
            return self._json(kind, {"ok": False, "error": fault.code})
        if isinstance(fault, Answer):
            return web.Response(
                status=fault.status, text=fault.body, content_type=fault.content_type, headers=fault.headers
            )
        if isinstance(fault, WithoutTimestamp):
            return self._json(kind, {key: value for key, value in payload.items() if key != "ts"})
        if isinstance(fault, OversizedAnswer):
            return self._json(kind, {**payload, "padding": "x" * fault.size})
        text = json.dumps(payload).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(text)
        await response.prepare(request)
        await response.write(text[: len(text) // 2])
        return self._drop(request, response)

    @staticmethod
    def _drop(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return response or web.Response()

    def _json(self, kind: str, payload: Payload) -> web.Response:
        headers = {
            "X-Slack-Req-Id": f"{next(self._request_numbers):032x}",
            "X-OAuth-Scopes": ",".join(self.scopes.get(kind, ())),
        }
        return web.json_response(payload, headers=headers)

    def _token_kind(self, request: web.Request) -> str:
        header = request.headers.get("Authorization", "")
        known = {f"Bearer {self.bot_token}": "bot", f"Bearer {self.user_token}": "user"}
        return known.get(header, "wrong" if header else "none")

    async def _carry_out_later(self, method: str, kind: str, body: Payload, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._carry_out(method, kind, body)

    def _carry_out(self, method: str, kind: str, body: Payload) -> Payload:
        if kind in {"none", "wrong"}:
            return {"ok": False, "error": "not_authed" if kind == "none" else "invalid_auth"}
        if method == "auth.test":
            return {"ok": True, "user": "dexbridge", "team": "Local Slack", "user_id": "U0BOT00001"}
        needed = _NEEDED_SCOPE.get(method)
        if needed is None:
            return {"ok": False, "error": "unknown_method"}
        if needed not in self.scopes[kind]:
            return {"ok": False, "error": "missing_scope", "needed": needed}
        if body.get("channel") not in self.workspace.channels:
            return {"ok": False, "error": "channel_not_found"}
        if method == "chat.postMessage":
            return self._post(body)
        return self._read(method, body)

    def _post(self, body: Payload) -> Payload:
        channel, text, thread_ts = body["channel"], body.get("text"), body.get("thread_ts")
        if not isinstance(text, str) or not text.strip():
            return {"ok": False, "error": "no_text"}
        if thread_ts and not self.any_thread and not self.workspace.has_message(channel, thread_ts):
            return {"ok": False, "error": "thread_not_found"}
        post = self.workspace.post(
            channel, text, thread_ts=thread_ts or None, metadata=body.get("metadata"), request=body
        )
        return {"ok": True, "channel": channel, "ts": post.ts, "message": post.to_json(with_metadata=False)}

    def _read(self, method: str, body: Payload) -> Payload:
        channel = body["channel"]
        oldest, latest = float(body.get("oldest") or 0), float(body.get("latest") or "inf")
        first: list[Post] = []
        if method == "conversations.replies":
            thread = self.workspace.thread(channel, str(body.get("ts")))
            if thread is None:
                return {"ok": False, "error": "thread_not_found"}
            first, found = thread[:1], thread[1:]
        else:
            found = self.workspace.history(channel)
        found = [post for post in found if oldest <= float(post.ts) <= latest]
        cursor = str(body.get("cursor") or "")
        start = int(cursor.removeprefix("next:")) if cursor.startswith("next:") else 0
        # Slack puts a thread's first message on its first page, whatever the window, and counts it.
        rows = [*first, *found]
        limit = int(body.get("limit") or 100)
        page, rest = rows[start : start + limit], rows[start + limit :]
        with_metadata = str(body.get("include_all_metadata")).lower() in {"1", "true"}
        return {
            "ok": True,
            "messages": [post.to_json(with_metadata=with_metadata) for post in page],
            "has_more": bool(rest),
            "response_metadata": {"next_cursor": f"next:{start + limit}" if rest else ""},
        }

    async def _admin_posts(self, _request: web.Request) -> web.Response:
        return web.json_response([asdict(post) for post in self.posts])

    async def _admin_requests(self, _request: web.Request) -> web.Response:
        return web.json_response([asdict(request) for request in self.requests])

    async def _admin_faults(self, _request: web.Request) -> web.Response:
        waiting = {method: [fault_to_json(f) for f in queue] for method, queue in self._faults.items() if queue}
        return web.json_response(waiting)

    async def _admin_add_faults(self, request: web.Request) -> web.Response:
        try:
            wanted: Any = await request.json()
            self.fail_next(str(wanted["method"]), *(fault_from_json(fault) for fault in wanted["faults"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            text = f'Send {{"method": "chat.postMessage", "faults": [{{"kind": "DropAfterPost"}}]}}: {error}\n'
            return web.Response(status=400, text=text)
        return await self._admin_faults(request)

    async def _admin_clear_faults(self, request: web.Request) -> web.Response:
        self._faults.clear()
        return await self._admin_faults(request)


async def _read_body(request: web.Request) -> Payload:
    if request.method == "GET":
        return dict(request.query)
    if request.content_type == "application/json":
        value: Any = await request.json()
        return cast(Payload, value) if isinstance(value, dict) else {}
    return dict(await request.post())


async def _serve_until_stopped(slack: LocalSlack) -> None:
    async with slack:
        print(f"Local Slack: endpoint {slack.endpoint}, bot_token {slack.bot_token}, user_token {slack.user_token}")
        print(f"Channel C0123456789, thread 1710000000.000100. What was posted: {slack.url}/_admin/posts")
        await asyncio.Event().wait()


def main() -> None:
    """Runs a local Slack until it is interrupted."""
    parser = argparse.ArgumentParser(description="A local Slack for trying by hand.")
    parser.add_argument("--port", type=int, default=8790, help="where to listen on 127.0.0.1")
    port: int = parser.parse_args().port
    try:
        asyncio.run(_serve_until_stopped(LocalSlack(port=port, any_thread=True)))
    except KeyboardInterrupt:
        print("stopped")


if __name__ == "__main__":
    main()
