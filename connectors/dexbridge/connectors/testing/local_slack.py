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
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Final

from aiohttp import web

from dexbridge.connectors.testing.faults import Answered, Fault
from dexbridge.connectors.testing.local_server import LocalServer, ReceivedRequest
from dexbridge.connectors.testing.slack_faults import SLACK_FAULT_KINDS
from dexbridge.connectors.testing.slack_workspace import BOT_USER, Post, Workspace, cursor_behind, microsecond_of

Payload = dict[str, Any]

_BOT_SCOPES: Final = ("channels:history", "groups:history", "channels:read", "users:read", "chat:write")
_USER_SCOPES: Final = ("channels:history", "groups:history")

_NEEDED_SCOPE: Final[Mapping[str, str]] = {
    "chat.postMessage": "chat:write",
    "conversations.replies": "channels:history",
    "conversations.history": "channels:history",
}


class LocalSlack(LocalServer):
    """A Slack that keeps what is posted and has the faults it is told to have.

    Args:
        port: 0 takes a free one.
        bot_token: the token that may post.
        user_token: the token that may read.
        bot_scopes: what the bot token may do.
        user_scopes: what the user token may do.

    `fail_next("chat.postMessage", fault, ...)` queues faults, one per request of that method. `requests` and `posts`
    list what arrived and what was posted. As at Slack a reply to a thread that is not there stands in the channel,
    and texts are shown rewritten; with `hides_metadata` no reader is shown any metadata.
    """

    fault_kinds: ClassVar[tuple[type[Fault], ...]] = SLACK_FAULT_KINDS

    def __init__(
        self,
        *,
        port: int = 0,
        bot_token: str = "xoxb-local-bot-token",  # noqa: S107  (a made-up value of a local server)
        user_token: str = "xoxp-local-user-token",  # noqa: S107
        bot_scopes: tuple[str, ...] = _BOT_SCOPES,
        user_scopes: tuple[str, ...] = _USER_SCOPES,
    ) -> None:
        super().__init__({"bot_token": bot_token, "user_token": user_token}, port=port)
        self.scopes: dict[str, tuple[str, ...]] = {"bot": bot_scopes, "user": user_scopes}
        self.hides_metadata = False
        self.workspace = Workspace()
        self._request_numbers = itertools.count(1)

    @property
    def bot_token(self) -> str:
        """The token that may post; set it to rotate it."""
        return self.tokens["bot_token"]

    @bot_token.setter
    def bot_token(self, token: str) -> None:
        self.tokens["bot_token"] = token

    @property
    def user_token(self) -> str:
        """The token that may read; set it to rotate it."""
        return self.tokens["user_token"]

    @user_token.setter
    def user_token(self, token: str) -> None:
        self.tokens["user_token"] = token

    @property
    def posts(self) -> list[Post]:
        """What was posted since the start, in order."""
        return self.workspace.posts

    @property
    def endpoint(self) -> str:
        """The `endpoint` of a Slack connection's configuration."""
        return f"{self.url}/api"

    async def wait_for_posts(self, count: int) -> None:
        """Waits until so many messages have been posted; give it a deadline with asyncio.timeout."""
        await self.wait_until(lambda: len(self.posts) >= count)

    def name_of(self, verb: str, path: str) -> str:
        """The method of Slack's Web API."""
        return path.removeprefix("/api/") if path.startswith("/api/") else f"{verb} {path}"

    def not_carried_out(self) -> Answered:
        return self._answered({"ok": True}, "none")

    def add_admin_routes(self, router: web.UrlDispatcher) -> None:
        router.add_get("/_admin/posts", self._admin_posts)

    def carry_out(self, request: ReceivedRequest) -> Answered:
        payload = self._result(request.method, request.token_kind, request.body)
        return self._answered(payload, request.token_kind)

    def _answered(self, payload: Payload, kind: str) -> Answered:
        headers = {
            "X-Slack-Req-Id": f"{next(self._request_numbers):032x}",
            "X-OAuth-Scopes": ",".join(self.scopes.get(kind, ())),
        }
        return Answered(200, payload, headers)

    def _result(self, method: str, kind: str, body: Mapping[str, Any]) -> Payload:
        if kind in {"none", "wrong"}:
            return {"ok": False, "error": "not_authed" if kind == "none" else "invalid_auth"}
        if method == "auth.test":
            return {"ok": True, "user": "dexbridge", "team": "Local Slack", "user_id": BOT_USER}
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

    def _post(self, body: Mapping[str, Any]) -> Payload:
        channel, text, thread_ts = body["channel"], body.get("text"), body.get("thread_ts")
        if not isinstance(text, str) or not text.strip():
            return {"ok": False, "error": "no_text"}
        post = self.workspace.post(
            channel,
            text,
            thread_ts=thread_ts or None,
            user=BOT_USER,
            metadata=body.get("metadata"),
            request=body,
        )
        return {"ok": True, "channel": channel, "ts": post.ts, "message": post.to_json(with_metadata=False)}

    def _read(self, method: str, body: Mapping[str, Any]) -> Payload:
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
        # Slack puts a thread's first message on its first page, whatever the window, and counts it.
        rows = [*first, *found]
        shown = microsecond_of(str(body.get("cursor") or ""))
        if shown is not None:
            is_newest_first = method == "conversations.history"
            rows = [row for row in rows if row.microsecond != shown and (row.microsecond < shown) is is_newest_first]
        limit = int(body.get("limit") or 100)
        page, rest = rows[:limit], rows[limit:]
        with_metadata = not self.hides_metadata and str(body.get("include_all_metadata")).lower() in {"1", "true"}
        return {
            "ok": True,
            "messages": [post.to_json(with_metadata=with_metadata) for post in page],
            "has_more": bool(rest),
            "response_metadata": {"next_cursor": cursor_behind(page[-1]) if rest else ""},
        }

    async def _admin_posts(self, _request: web.Request) -> web.Response:
        return web.json_response([asdict(post) for post in self.posts])


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
        asyncio.run(_serve_until_stopped(LocalSlack(port=port)))
    except KeyboardInterrupt:
        print("stopped")


if __name__ == "__main__":
    main()
