"""The messages of a local Slack: channels, threads, pages."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

SEEDED_CHANNEL: Final = "C0123456789"
SEEDED_THREAD: Final = "1710000000.000100"


@dataclass(frozen=True)
class Post:
    """One message as Slack keeps it: escaped text, its thread, its metadata."""

    channel: str
    ts: str
    text: str
    thread_ts: str | None = None
    user: str = "U0BOT00001"
    metadata: Mapping[str, Any] | None = None
    request: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_json(self, *, with_metadata: bool) -> dict[str, Any]:
        """The message object of Slack's Web API."""
        message: dict[str, Any] = {"type": "message", "user": self.user, "ts": self.ts, "text": self.text}
        if self.thread_ts is not None:
            message["thread_ts"] = self.thread_ts
        if with_metadata and self.metadata is not None:
            message["metadata"] = dict(self.metadata)
        return message


class Workspace:
    """What was posted, in order. It holds one thread from the start: SEEDED_CHANNEL, SEEDED_THREAD."""

    def __init__(self, channels: Iterable[str] = (SEEDED_CHANNEL, "C0000000002")) -> None:
        self.channels = set(channels)
        self.posts: list[Post] = []
        self._parents = {
            (SEEDED_CHANNEL, SEEDED_THREAD): Post(
                SEEDED_CHANNEL, SEEDED_THREAD, "Where is order 1042?", SEEDED_THREAD, "U0CUSTOMER1"
            )
        }
        self._last_microsecond = 0

    def has_message(self, channel: str, ts: str) -> bool:
        """Whether a thread can start at that message."""
        return (channel, ts) in self._parents

    def post(
        self,
        channel: str,
        text: str,
        *,
        thread_ts: str | None = None,
        user: str = "U0BOT00001",
        metadata: Mapping[str, Any] | None = None,
        request: Mapping[str, Any] | None = None,
        ts: str | None = None,
    ) -> Post:
        """Adds a message, with a timestamp of its own unless one is given."""
        microsecond = max(self._last_microsecond + 1, time.time_ns() // 1_000)
        self._last_microsecond = microsecond
        ts = ts or f"{microsecond // 1_000_000}.{microsecond % 1_000_000:06d}"
        post = Post(channel, ts, text, thread_ts, user, metadata, dict(request or {}))
        self.posts.append(post)
        if thread_ts is None:
            self._parents[channel, ts] = post
        return post

    def thread(self, channel: str, thread_ts: str) -> list[Post] | None:
        """The thread's first message and its replies, oldest first; None when there is no such message."""
        parent = self._parents.get((channel, thread_ts))
        if parent is None:
            return None
        return [parent, *(p for p in self.posts if p.channel == channel and p.thread_ts == thread_ts)]

    def history(self, channel: str) -> list[Post]:
        """The channel's messages outside of threads, newest first."""
        parents = [post for (where, _), post in self._parents.items() if where == channel]
        return sorted(parents, key=lambda post: post.ts, reverse=True)
