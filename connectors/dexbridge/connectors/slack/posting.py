"""How Slack's two Mutations send, and what each answer makes of them."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from dexbridge.connectors.contract.attempts.attempt import Attempt
from dexbridge.connectors.contract.attempts.dispatch import Dispatch
from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.http.answer_branches import unsuccessful
from dexbridge.connectors.http.answer_table import JudgedAnswer, Proof
from dexbridge.connectors.http.page import Raw
from dexbridge.connectors.slack.messages import text_field
from dexbridge.connectors.slack.models import PostThreadReplyInput
from dexbridge.connectors.slack.outgoing import sent_fields
from dexbridge.connectors.slack.posted import PostInput, posted_message, where
from dexbridge.connectors.slack.web_api import WebApi

CALL_EVENT_TYPE: Final = "dexbridge_call"
"""The message metadata's event type; its payload holds the Call ID, by which a message is found again."""

_TIMESTAMP: Final = re.compile(r"[0-9]{10,}\.[0-9]{6}")


async def post(api: WebApi, dispatch: Dispatch[Any]) -> Attempt:
    """Posts the dispatch's message: one `chat.postMessage`."""
    given: PostInput = dispatch.input
    message: dict[str, Any] = {
        "channel": given.channel_id,
        **sent_fields(given.text, raw_mrkdwn=given.raw_mrkdwn, markdown=bool(given.markdown)),
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


def _outcome(dispatch: Dispatch[Any], given: PostInput, answer: JudgedAnswer) -> Attempt:
    if answer.proof is Proof.DONE:
        timestamp, channel = answer.fields.get("ts"), text_field(answer.fields, "channel")
        if not isinstance(timestamp, str) or not _TIMESTAMP.fullmatch(timestamp) or channel is None:
            return dispatch.uncertain(FailureKind.PROTOCOL, "Slack said ok, but named no message.")
        echoed: object = answer.fields.get("message")
        raw: Raw = cast(Raw, echoed) if isinstance(echoed, dict) else {}
        branch, posted = posted_message(given, channel, timestamp, raw)
        receipt = dispatch.receipt(timestamp, request_id=answer.request_id, metadata=where(posted.message))
        return dispatch.took(branch, posted, receipt)
    return unsuccessful(dispatch, answer)
