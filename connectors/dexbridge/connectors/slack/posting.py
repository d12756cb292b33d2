"""How Slack's two Mutations send, and what each answer makes of them."""

from __future__ import annotations

import re
from typing import Any, Final

from dexbridge.connectors.attempt import Attempt
from dexbridge.connectors.dispatch import Dispatch
from dexbridge.connectors.failure import FailureKind
from dexbridge.connectors.slack.advice import advice_for
from dexbridge.connectors.slack.answers import Proof, SlackAnswer
from dexbridge.connectors.slack.models import (
    PostChannelMessageInput,
    PostedMessage,
    PostThreadReplyInput,
    SlackMessage,
)
from dexbridge.connectors.slack.web_api import WebApi

CALL_EVENT_TYPE: Final = "dexbridge_call"
"""The message metadata's event type; its payload holds the Call ID, by which a message is found again."""

_TIMESTAMP: Final = re.compile(r"[0-9]{10,}\.[0-9]{6}")


def escape_text(text: str) -> str:
    """Text as Slack shows it literally: only `&`, `<` and `>` are written as entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape_text(text: str) -> str:
    """The opposite of `escape_text`."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


async def post(api: WebApi, dispatch: Dispatch[Any]) -> Attempt:
    """Posts the dispatch's message: one `chat.postMessage`."""
    given: PostChannelMessageInput | PostThreadReplyInput = dispatch.input
    message: dict[str, Any] = {
        "channel": given.channel_id,
        "text": given.text if given.raw_mrkdwn else escape_text(given.text),
        "unfurl_links": given.unfurl_links,
        "unfurl_media": given.unfurl_links,
        "metadata": {"event_type": CALL_EVENT_TYPE, "event_payload": {"call_id": dispatch.call.call_id}},
        # Not promised to third parties; sent because it can only help, never relied on.
        "client_msg_id": dispatch.call.call_id,
    }
    if isinstance(given, PostThreadReplyInput):
        message["thread_ts"] = given.thread_timestamp
    answer = await api.post_message(dispatch.credential("bot_token"), dispatch.leave, **message)
    return _outcome(dispatch, given, answer)


def _outcome(
    dispatch: Dispatch[Any], given: PostChannelMessageInput | PostThreadReplyInput, answer: SlackAnswer
) -> Attempt:
    if answer.proof is Proof.DONE:
        posted = _posted(given, answer)
        if posted is None:
            return dispatch.uncertain(FailureKind.PROTOCOL, "Slack said ok, but named no message.")
        receipt = dispatch.receipt(posted.timestamp, request_id=answer.request_id)
        return dispatch.took("sent", PostedMessage(message=posted), receipt)
    if answer.proof is Proof.NOT_DONE_LIMITED:
        return dispatch.retry(answer.kind, answer.reason, answer.delay)
    if answer.proof is Proof.NOT_DONE_REJECTED:
        kind, advice = advice_for(answer.code)
        return dispatch.failed("providerRejected", kind, advice, dispatch.receipt(request_id=answer.request_id))
    return dispatch.uncertain(answer.kind, answer.reason)


def _posted(given: PostChannelMessageInput | PostThreadReplyInput, answer: SlackAnswer) -> SlackMessage | None:
    timestamp, channel = answer.payload.get("ts"), answer.payload.get("channel")
    if not isinstance(timestamp, str) or not _TIMESTAMP.fullmatch(timestamp):
        return None
    if not isinstance(channel, str) or not channel:
        return None
    echoed: Any = answer.payload.get("message")
    user = echoed.get("user") if isinstance(echoed, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return SlackMessage(
        channel_id=channel,
        timestamp=timestamp,
        thread_timestamp=given.thread_timestamp if isinstance(given, PostThreadReplyInput) else None,
        user_id=user if isinstance(user, str) else None,
        text=given.text,
    )
