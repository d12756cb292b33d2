"""Where a posted message stands: what Slack says of it, seen from what was asked for."""

from __future__ import annotations

from typing import Final, TypeAlias

from dexbridge.connectors.http.page import Raw
from dexbridge.connectors.slack.messages import bot_of, text_field
from dexbridge.connectors.slack.models import (
    PostChannelMessageInput,
    PostedMessage,
    PostThreadReplyInput,
    SlackMessage,
)

SENT: Final = "sent"
OUTSIDE_THREAD: Final = "sentOutsideThread"

PostInput: TypeAlias = PostChannelMessageInput | PostThreadReplyInput


def posted_message(given: PostInput, channel_id: str, timestamp: str, raw: Raw) -> tuple[str, PostedMessage]:
    """The branch a post took, and the message: its thread as Slack names it, its text as it was asked for.

    Args:
        given: what was asked for.
        channel_id: where Slack says it stands.
        timestamp: Slack's own, of the message.
        raw: Slack's message object; empty when it gave none.
    """
    named = text_field(raw, "thread_ts")
    thread = None if named == timestamp else named  # a message that got replies names itself
    message = SlackMessage(
        channel_id=channel_id,
        timestamp=timestamp,
        thread_timestamp=thread,
        user_id=text_field(raw, "user"),
        bot=bot_of(raw),
        text=given.text,
    )
    if not isinstance(given, PostThreadReplyInput) or thread == given.thread_timestamp:
        return SENT, PostedMessage(message=message)
    if not raw:
        note = "Posted, but Slack did not say whether it stands in the thread. Do not post it again."
        return SENT, PostedMessage(message=message, note=note)
    if thread is None:
        note = (
            f"Posted, but it stands in the channel, outside the thread: this channel has no message "
            f"{given.thread_timestamp} any more. Everybody in the channel sees it. Do not post it again; tell the "
            "user where it stands."
        )
        return OUTSIDE_THREAD, PostedMessage(message=message, note=note)
    note = (
        f"Posted in the thread {thread}: {given.thread_timestamp} is not a thread's first message but a reply in "
        f"that thread. Use {thread} from now on."
    )
    return SENT, PostedMessage(message=message, note=note)


def where(message: SlackMessage) -> dict[str, str]:
    """What Slack said of a message's place, for its receipt."""
    place = {"channel_id": message.channel_id}
    return place if message.thread_timestamp is None else {**place, "thread_timestamp": message.thread_timestamp}
