"""The messages of a local Slack: channels, threads, and how Slack shows a message to a reader."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

SEEDED_CHANNEL: Final = "C0123456789"
SEEDED_THREAD: Final = "1710000000.000100"
BOT_USER: Final = "U0BOT00001"
BOT_ID: Final = "B0BOT00001"
CUSTOMER: Final = "U0CUSTOMER1"

_EMOJI: Final = {"🎉": ":tada:", "👍": ":+1:", "❤️": ":heart:"}
_BARE_LINK: Final = re.compile(r"(?<![<|\w])https?://[^\s<>|]+")
_BARE_MAIL: Final = re.compile(r"(?<![<|:\w.])[\w.+-]+@[\w-]+\.[\w.]*\w")


def rewrite_text(text: str) -> str:
    """A posted text as Slack keeps it: emoji by name, bare links and mail addresses wrapped."""
    for emoji, name in _EMOJI.items():
        text = text.replace(emoji, name)
    text = _BARE_LINK.sub(lambda found: f"<{found[0]}>", text)
    return _BARE_MAIL.sub(lambda found: f"<mailto:{found[0]}|{found[0]}>", text)


@dataclass(frozen=True)
class Post:
    """One message: the text as it was posted, its thread, its metadata; `more` replaces fields of its JSON."""

    channel: str
    ts: str
    text: str
    thread_ts: str | None = None
    user: str = CUSTOMER
    metadata: Mapping[str, Any] | None = None
    request: Mapping[str, Any] = field(default_factory=dict[str, Any])
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def microsecond(self) -> int:
        """When it was posted."""
        return int(self.ts.replace(".", ""))

    def to_json(self, *, with_metadata: bool) -> dict[str, Any]:
        """The message object of Slack's Web API."""
        text = rewrite_text(self.text)
        message: dict[str, Any] = {"type": "message", "user": self.user, "ts": self.ts, "text": text}
        if self.user == BOT_USER:
            message["bot_id"] = BOT_ID
        if self.thread_ts is not None:
            message["thread_ts"] = self.thread_ts
        if with_metadata and self.metadata is not None:
            message["metadata"] = dict(self.metadata)
        return {**message, **self.more}


def cursor_behind(post: Post) -> str:
    """The cursor of the page behind a message: as at Slack it names the message's time, not a number of messages."""
    return base64.b64encode(f"next_ts:{post.microsecond}".encode()).decode()


def microsecond_of(cursor: str) -> int | None:
    """The time a cursor names; None for none."""
    try:
        return int(base64.b64decode(cursor).decode().removeprefix("next_ts:"))
    except ValueError:
        return None


class Workspace:
    """What was posted, in order. It holds one thread from the start: SEEDED_CHANNEL, SEEDED_THREAD."""

    def __init__(self, channels: Iterable[str] = (SEEDED_CHANNEL, "C0000000002")) -> None:
        self.channels = set(channels)
        self.posts: list[Post] = []
        self._parents = {
            (SEEDED_CHANNEL, SEEDED_THREAD): Post(SEEDED_CHANNEL, SEEDED_THREAD, "Where is order 1042?", SEEDED_THREAD)
        }
        self._last_microsecond = 0

    def post(
        self,
        channel: str,
        text: str,
        *,
        thread_ts: str | None = None,
        user: str = CUSTOMER,
        metadata: Mapping[str, Any] | None = None,
        request: Mapping[str, Any] | None = None,
        ts: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Post:
        """Adds a message, with a timestamp of its own unless one is given.

        As Slack does it: in the thread that `thread_ts` starts or belongs to, and at the channel's top level when
        the channel holds no such message.
        """
        microsecond = max(self._last_microsecond + 1, time.time_ns() // 1_000)
        self._last_microsecond = microsecond
        ts = ts or f"{microsecond // 1_000_000}.{microsecond % 1_000_000:06d}"
        root = None if thread_ts is None else self._root(channel, thread_ts)
        post = Post(channel, ts, text, root, user, metadata, dict(request or {}), dict(more or {}))
        self.posts.append(post)
        if root is None:
            self._parents[channel, ts] = post
        return post

    def delete(self, channel: str, ts: str) -> None:
        """Deletes a message; the first one of a thread with replies leaves a tombstone, as at Slack."""
        self.posts = [post for post in self.posts if (post.channel, post.ts) != (channel, ts)]
        parent = self._parents.pop((channel, ts), None)
        if parent is not None and any((post.channel, post.thread_ts) == (channel, ts) for post in self.posts):
            gone = {"subtype": "tombstone", "user": "USLACKBOT", "hidden": True}
            self._parents[channel, ts] = Post(channel, ts, "This message was deleted.", ts, more=gone)

    def thread(self, channel: str, ts: str) -> list[Post] | None:
        """The thread's first message and its replies, oldest first; of a reply's ts the reply alone.

        None when there is no such message.
        """
        parent = self._parents.get((channel, ts))
        if parent is None:
            return [post for post in self.posts if (post.channel, post.ts) == (channel, ts)] or None
        return [parent, *(p for p in self.posts if p.channel == channel and p.thread_ts == ts)]

    def history(self, channel: str) -> list[Post]:
        """The channel's messages outside of threads, newest first."""
        parents = [post for (where, _), post in self._parents.items() if where == channel]
        return sorted(parents, key=lambda post: post.ts, reverse=True)

    def _root(self, channel: str, ts: str) -> str | None:
        parent = self._parents.get((channel, ts))
        if parent is not None:
            return None if parent.more.get("subtype") == "tombstone" else ts
        return next((post.thread_ts for post in self.posts if (post.channel, post.ts) == (channel, ts)), None)
