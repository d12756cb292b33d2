"""Tells afterwards whether a post was carried out, by the Call ID in the message's metadata."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dexbridge.connectors.dispatch import Inquiry
from dexbridge.connectors.http_pool import ANY_TIME
from dexbridge.connectors.reconciliation import CannotTell, FoundNotSent, FoundSent, Reconciliation
from dexbridge.connectors.slack.advice import advice_for
from dexbridge.connectors.slack.answers import Proof, SlackAnswer
from dexbridge.connectors.slack.messages import RawMessage, metadata_of, next_cursor, raw_messages, to_message
from dexbridge.connectors.slack.models import PostChannelMessageInput, PostedMessage, PostThreadReplyInput
from dexbridge.connectors.slack.posting import CALL_EVENT_TYPE, unescape_text
from dexbridge.connectors.slack.web_api import WebApi

MAX_READS: Final = 4
"""Apps sold outside the Marketplace may read one page a minute, so a look costs a handful at most."""

_PAGE: Final = 15

_CLOCK_SLACK: Final = timedelta(seconds=60)
"""How far the window is opened at both ends, because Slack's clock stamps the messages."""

_NO_WORD: Final = re.compile(r"\W+")


async def reconcile(api: WebApi, inquiry: Inquiry[Any]) -> Reconciliation:
    """Reads the window in which the call's message can be, and looks for its Call ID."""
    given: PostChannelMessageInput | PostThreadReplyInput = inquiry.input
    token = inquiry.credential("user_token")
    method, arguments = _window(inquiry, given)
    may_be_ours = False
    for _ in range(MAX_READS):
        answer = await api.read(token, ANY_TIME, method, arguments)
        if answer.proof is not Proof.DONE:
            return CannotTell(_why_unread(answer))
        if answer.clock is not None and abs(datetime.now(UTC) - answer.clock) >= _CLOCK_SLACK:
            return CannotTell("This machine's clock and Slack's are too far apart to look in the right window.")
        messages = raw_messages(answer.payload)
        if messages is None:
            return CannotTell("Slack's answer does not hold the messages it should.")
        for raw in messages:
            if _is_ours(raw, inquiry.call.call_id):
                message = to_message(given.channel_id, raw)
                receipt = inquiry.receipt(message.timestamp, request_id=answer.request_id)
                return FoundSent(PostedMessage(message=message), receipt)
            may_be_ours = may_be_ours or _may_be_ours(raw, given.text)
        cursor = next_cursor(answer.payload)
        if cursor is None:
            if answer.payload.get("has_more") is True:
                return CannotTell("Slack says there are more messages, but not how to read them.")
            if may_be_ours:
                return CannotTell("Slack holds a message like it, but does not show which call posted it.")
            return FoundNotSent("Slack does not hold the message: it was not sent.")
        arguments = {**arguments, "cursor": cursor}
    return CannotTell(f"More messages were written meanwhile than {MAX_READS} pages hold; look in Slack.")


def _window(inquiry: Inquiry[Any], given: PostChannelMessageInput | PostThreadReplyInput) -> tuple[str, dict[str, str]]:
    arguments = {
        "channel": given.channel_id,
        "oldest": _timestamp(inquiry.opened_at - _CLOCK_SLACK),
        "latest": _timestamp(inquiry.ended_by + _CLOCK_SLACK),
        "inclusive": "true",
        "include_all_metadata": "true",
        "limit": str(_PAGE),
    }
    if isinstance(given, PostThreadReplyInput):
        return "conversations.replies", {**arguments, "ts": given.thread_timestamp}
    return "conversations.history", arguments


def _timestamp(instant: datetime) -> str:
    return f"{instant.timestamp():.6f}"


def _is_ours(raw: RawMessage, call_id: str) -> bool:
    event_type, payload = metadata_of(raw)
    return event_type == CALL_EVENT_TYPE and payload.get("call_id") == call_id


def _may_be_ours(raw: RawMessage, text: str) -> bool:
    """Whether Slack may be keeping the Call ID of this message from us.

    Without include_all_metadata, or when it is not honoured, Slack gives no metadata or only its event type. It
    also writes links and entities in its own way, so texts are compared by their letters and digits.
    """
    event_type, payload = metadata_of(raw)
    if event_type == CALL_EVENT_TYPE:
        return "call_id" not in payload
    found, sent = (_NO_WORD.sub("", unescape_text(each)) for each in (str(raw.get("text", "")), text))
    return event_type is None and found == sent


def _why_unread(answer: SlackAnswer) -> str:
    if answer.proof is Proof.NOT_DONE_REJECTED:
        return f"Slack could not be searched for the message. {advice_for(answer.code)[1]}"
    return f"Slack could not be searched for the message. {answer.reason}"
