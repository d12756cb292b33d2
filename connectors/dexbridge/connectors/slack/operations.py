"""Slack's four operations: the manifest."""

from __future__ import annotations

from typing import Final

from dexbridge.connectors.contract.operation import Branch, BranchOutcome, Mutation, Query
from dexbridge.connectors.http.answer_branches import mutation_branches, query_branches
from dexbridge.connectors.http.pool import HTTP_TIMEOUT
from dexbridge.connectors.slack.models import (
    GetThreadReplyInput,
    ListThreadMessagesInput,
    PostChannelMessageInput,
    PostedMessage,
    PostThreadReplyInput,
    ThreadMessages,
    ThreadReply,
)
from dexbridge.connectors.slack.posted import OUTSIDE_THREAD, SENT

_SENT: Final = Branch(SENT, BranchOutcome.SUCCEEDED, "Slack posted the message.")
_OUTSIDE_THREAD: Final = Branch(
    OUTSIDE_THREAD,
    BranchOutcome.SUCCEEDED,
    "Slack posted the reply in the channel, outside the thread, because the thread is not there any more.",
)

_USER_SCOPES: Final = ("channels:history", "groups:history")

_READER: Final = {"user_token": "bot_token"}
"""A connection of a bot alone reads and looks up with the bot's token, where that has the scopes."""

_ID_HINT: Final = "Channels are named by ID (C0123456789)."

LIST_THREAD_MESSAGES: Final = Query(
    connector_id="slack",
    operation_id="listThreadMessages",
    title="List Slack thread messages",
    description=(
        "Lists the messages of one Slack thread, oldest first, at most 15 per page. When the result has a "
        f"next_cursor there are more: call again with it as cursor. {_ID_HINT}"
    ),
    input=ListThreadMessagesInput,
    output=ThreadMessages,
    branches=(
        Branch("read", BranchOutcome.SUCCEEDED, "One page of the thread was read."),
        *query_branches("Slack"),
    ),
    credentials=("user_token",),
    stand_ins=_READER,
    scopes={"user_token": _USER_SCOPES},
    exposed_to_agents=True,
    timeout=HTTP_TIMEOUT,
)

GET_THREAD_REPLY: Final = Query(
    connector_id="slack",
    operation_id="getThreadReply",
    title="Get Slack thread reply",
    description=f"Reads one reply of a Slack thread by its timestamp. {_ID_HINT}",
    input=GetThreadReplyInput,
    output=ThreadReply,
    branches=(
        Branch("found", BranchOutcome.SUCCEEDED, "The reply was found."),
        Branch("notFound", BranchOutcome.FAILED, "The thread has no reply with that timestamp."),
        *query_branches("Slack"),
    ),
    credentials=("user_token",),
    stand_ins=_READER,
    scopes={"user_token": _USER_SCOPES},
    exposed_to_agents=True,
    timeout=HTTP_TIMEOUT,
)

POST_CHANNEL_MESSAGE: Final = Mutation(
    connector_id="slack",
    operation_id="postChannelMessage",
    title="Post Slack channel message",
    description=(
        "Posts one new message to a Slack channel, outside of any thread. To answer in a thread use "
        f"slack_post_thread_reply. {_ID_HINT}"
    ),
    input=PostChannelMessageInput,
    output=PostedMessage,
    branches=(_SENT, *mutation_branches("Slack")),
    credentials=("bot_token",),
    reconcile_credentials=("user_token",),
    stand_ins=_READER,
    scopes={"bot_token": ("chat:write",), "user_token": _USER_SCOPES},
    can_reconcile=True,
    exposed_to_agents=True,
    timeout=HTTP_TIMEOUT,
)

POST_THREAD_REPLY: Final = Mutation(
    connector_id="slack",
    operation_id="postThreadReply",
    title="Post Slack thread reply",
    description=(
        "Posts one reply in a Slack thread. thread_timestamp is the timestamp of the thread's first message, "
        f"as a string. {_ID_HINT}"
    ),
    input=PostThreadReplyInput,
    output=PostedMessage,
    branches=(_SENT, _OUTSIDE_THREAD, *mutation_branches("Slack")),
    credentials=("bot_token",),
    reconcile_credentials=("user_token",),
    stand_ins=_READER,
    scopes={"bot_token": ("chat:write",), "user_token": _USER_SCOPES},
    can_reconcile=True,
    exposed_to_agents=True,
    timeout=HTTP_TIMEOUT,
)

SLACK_OPERATIONS: Final = (
    LIST_THREAD_MESSAGES,
    GET_THREAD_REPLY,
    POST_CHANNEL_MESSAGE,
    POST_THREAD_REPLY,
)
