"""How Slack's two Queries read."""

from __future__ import annotations

from dexbridge.connectors.contract.attempts.attempt import Attempt
from dexbridge.connectors.contract.attempts.dispatch import Dispatch
from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.http.answer_branches import INVALID_RESPONSE, PROVIDER_REJECTED, unsuccessful
from dexbridge.connectors.http.answer_table import JudgedAnswer, Proof
from dexbridge.connectors.slack.messages import next_cursor, read_messages, to_message
from dexbridge.connectors.slack.models import (
    GetThreadReplyInput,
    ListThreadMessagesInput,
    ThreadMessages,
    ThreadReply,
)
from dexbridge.connectors.slack.web_api import WebApi

AnyRead = Dispatch[ListThreadMessagesInput] | Dispatch[GetThreadReplyInput]

NO_SUCH = frozenset({"thread_not_found", "message_not_found"})


async def list_thread_messages(api: WebApi, dispatch: Dispatch[ListThreadMessagesInput]) -> Attempt:
    """Reads one page of a thread."""
    given = dispatch.input
    arguments = {"channel": given.channel_id, "ts": given.thread_timestamp, "limit": str(given.page_size)}
    if given.cursor is not None:
        arguments["cursor"] = given.cursor
    answer = await _replies(api, dispatch, arguments)
    if answer.proof is not Proof.DONE:
        return unsuccessful(dispatch, answer)
    found = read_messages(answer.fields)
    if found is None:
        return _malformed(dispatch)
    page = ThreadMessages(
        messages=tuple(to_message(given.channel_id, raw) for raw in found.objects),
        next_cursor=next_cursor(answer.fields),
    )
    return dispatch.took("read", page, dispatch.receipt(request_id=answer.request_id))


async def get_thread_reply(api: WebApi, dispatch: Dispatch[GetThreadReplyInput]) -> Attempt:
    """Reads one reply: the thread's window that begins and ends at its timestamp."""
    given = dispatch.input
    answer = await _replies(
        api,
        dispatch,
        {
            "channel": given.channel_id,
            "ts": given.thread_timestamp,
            "oldest": given.reply_timestamp,
            "latest": given.reply_timestamp,
            "inclusive": "true",
            "limit": "2",  # Slack puts the thread's first message on every page
        },
    )
    if answer.proof is not Proof.DONE:
        return unsuccessful(dispatch, answer, refusal="notFound" if answer.code in NO_SUCH else PROVIDER_REJECTED)
    page = read_messages(answer.fields)
    if page is None:
        return _malformed(dispatch)
    for raw in page.objects:
        if raw["ts"] == given.reply_timestamp and raw.get("thread_ts") == given.thread_timestamp:
            reply = ThreadReply(message=to_message(given.channel_id, raw))
            receipt = dispatch.receipt(given.reply_timestamp, request_id=answer.request_id)
            return dispatch.took("found", reply, receipt)
    return dispatch.failed(
        "notFound",
        FailureKind.NOT_FOUND,
        "the thread has no reply with that timestamp; slack_list_thread_messages shows those it has.",
    )


async def _replies(api: WebApi, dispatch: AnyRead, arguments: dict[str, str]) -> JudgedAnswer:
    return await api.read(dispatch.credential("user_token"), dispatch.leave, "conversations.replies", arguments)


def _malformed(dispatch: AnyRead) -> Attempt:
    return dispatch.failed(
        INVALID_RESPONSE, FailureKind.PROTOCOL, "Slack's answer does not hold the messages it should."
    )
