"""Tells afterwards whether a post was carried out, by the Call ID in the message's metadata."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dexbridge.connectors.contract.attempts.dispatch import Inquiry
from dexbridge.connectors.contract.attempts.reconciliation import (
    CannotTell,
    FoundNotSent,
    FoundSent,
    Reconciliation,
    look_again,
)
from dexbridge.connectors.http.answer_branches import unread
from dexbridge.connectors.http.answer_table import JudgedAnswer, Proof
from dexbridge.connectors.http.page import Raw
from dexbridge.connectors.http.pool import ANY_TIME
from dexbridge.connectors.slack.messages import (
    bot_of,
    is_tombstone,
    metadata_of,
    names_a_time,
    next_cursor,
    read_messages,
)
from dexbridge.connectors.slack.models import PostThreadReplyInput
from dexbridge.connectors.slack.posted import PostInput, posted_message, where
from dexbridge.connectors.slack.posting import CALL_EVENT_TYPE
from dexbridge.connectors.slack.reading import NO_SUCH
from dexbridge.connectors.slack.text import plain_text
from dexbridge.connectors.slack.web_api import WebApi

MAX_READS: Final = 4
"""Apps sold outside the Marketplace may read one page a minute, so a look costs a handful at most."""

_PAGE: Final = 15

_CLOCK_SLACK: Final = timedelta(seconds=60)
"""How far the window is opened at both ends, because Slack's clock stamps the messages."""

_NO_WORD: Final = re.compile(r"\W+")

_UNREAD: Final = "Slack could not be searched for the message"


async def reconcile(api: WebApi, inquiry: Inquiry[Any]) -> Reconciliation:
    """Reads the window in which the call's message can be, and looks for its Call ID.

    A reply whose thread is not there any more stands in the channel, and one that was sent to a reply's timestamp
    stands in that reply's thread: there it is looked for, too.
    """
    search = _Search(api, inquiry)
    given = inquiry.input
    concluded = await (search.of_thread(given) if isinstance(given, PostThreadReplyInput) else search.of_channel())
    if concluded is not None:
        return concluded
    if search.may_be_ours:
        return CannotTell(
            "Slack holds a message that may be it, but does not show which call posted it; look in Slack."
        )
    if search.may_have_moved:
        return CannotTell("Slack's pages do not show that none of their messages was passed over; look in Slack.")
    return FoundNotSent("The message is not in Slack: it was not sent, or was deleted since.")


@dataclass
class _Search:
    """One look: the pages it may still read, and what was seen on those it read."""

    api: WebApi
    inquiry: Inquiry[Any]
    reads_left: int = MAX_READS
    may_be_ours: bool = False
    may_have_moved: bool = False
    """A page began at something else than a time: a message deleted meanwhile may have moved ours off it."""
    _threads: dict[str, Raw] = field(default_factory=dict[str, Raw])

    async def of_channel(self) -> Reconciliation | None:
        """Searches the channel, outside of its threads. None: read to its end, and the message is not there."""
        return await self._read("conversations.history")

    async def of_thread(self, given: PostThreadReplyInput) -> Reconciliation | None:
        """Searches every place the reply can stand in. None: read to their ends, and the message is not there."""
        asked: list[str] = []
        thread: str | None = given.thread_timestamp
        while thread is not None and thread not in asked:
            asked.append(thread)
            concluded = await self._read("conversations.replies", ts=thread)
            if concluded is not None:
                return concluded
            first = self._threads.get(thread)
            if first is None or is_tombstone(first):
                return await self.of_channel()
            root: object = first.get("thread_ts")
            thread = root if isinstance(root, str) else None
        return None

    async def _read(self, method: str, **place: str) -> Reconciliation | None:
        arguments = {**self._window(), **place}
        while self.reads_left:
            answer = await self.api.read(self.inquiry.credential("user_token"), ANY_TIME, method, arguments)
            self.reads_left -= 1
            if place and answer.proof is Proof.NOT_DONE_REFUSED and answer.code in NO_SUCH:
                return None
            concluded = self._see(answer)
            if isinstance(concluded, CannotTell) and await self._wait_out(concluded):
                continue
            cursor = next_cursor(answer.fields)
            if concluded is not None or cursor is None:
                return concluded
            self.may_have_moved = self.may_have_moved or not names_a_time(cursor)
            arguments = {**arguments, "cursor": cursor}
        return CannotTell(f"More messages were written meanwhile than {MAX_READS} pages hold; look in Slack.")

    async def _wait_out(self, failed: CannotTell) -> bool:
        """Whether to read the page that failed once more; of the first one, another look loses nothing."""
        if self.reads_left == MAX_READS - 1 or not await self.inquiry.wait_out(failed):
            return False
        self.reads_left += 1
        return True

    def _see(self, answer: JudgedAnswer) -> Reconciliation | None:
        """What one page tells; None when the message is not on it."""
        if answer.proof is not Proof.DONE:
            return unread(answer, f"{_UNREAD}.")
        if answer.clock is not None and abs(datetime.now(UTC) - answer.clock) >= _CLOCK_SLACK:
            return CannotTell("This machine's clock and Slack's are too far apart to look in the right window.")
        page = read_messages(answer.fields)
        if page is None:
            return look_again(f"{_UNREAD}: its answer does not hold the messages it should.")
        given: PostInput = self.inquiry.input
        for raw in page.objects:
            if _is_ours(raw, self.inquiry.call.call_id):
                branch, posted = posted_message(given, given.channel_id, raw["ts"], raw)
                receipt = self.inquiry.receipt(
                    posted.message.timestamp, request_id=answer.request_id, metadata=where(posted.message)
                )
                return FoundSent(posted, receipt, branch)
            self._threads.setdefault(raw["ts"], raw)
            self.may_be_ours = self.may_be_ours or _may_be_ours(raw, given.text)
        self.may_be_ours = self.may_be_ours or page.unreadable > 0
        if next_cursor(answer.fields) is None and answer.fields.get("has_more") is True:
            return look_again("Slack says there are more messages, but not how to read them.")
        return None

    def _window(self) -> dict[str, str]:
        return {
            "channel": self.inquiry.input.channel_id,
            "oldest": _timestamp(self.inquiry.opened_at - _CLOCK_SLACK),
            "latest": _timestamp(self.inquiry.ended_by + _CLOCK_SLACK),
            "inclusive": "true",
            "include_all_metadata": "true",
            "limit": str(_PAGE),
        }


def _timestamp(instant: datetime) -> str:
    return f"{instant.timestamp():.6f}"


def _is_ours(raw: Raw, call_id: str) -> bool:
    event_type, payload = metadata_of(raw)
    return event_type == CALL_EVENT_TYPE and payload.get("call_id") == call_id


def _may_be_ours(raw: Raw, text: str) -> bool:
    """Whether Slack may be keeping the Call ID of this message from us.

    Without include_all_metadata, or when it is not honoured, Slack gives no metadata or only its event type. It
    rewrites texts (emoji, links, addresses), so the text of a bot's message tells nothing; a person's is compared by
    its letters and digits.
    """
    event_type, payload = metadata_of(raw)
    if event_type is not None:
        return event_type == CALL_EVENT_TYPE and "call_id" not in payload
    if is_tombstone(raw):
        return False
    found, sent = (_NO_WORD.sub("", plain_text(each)) for each in (str(raw.get("text") or ""), text))
    return bot_of(raw) is not None or found == sent
