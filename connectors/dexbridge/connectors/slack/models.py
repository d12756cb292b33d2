"""Input and output of Slack's operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar, cast

from pydantic import Field, create_model, model_validator

from dexbridge.connectors.contract.arguments.input_schema import Advice, NotBlank, OperationInput, OperationOutput
from dexbridge.connectors.slack.configuration import CHANNEL_PATTERN, DEFAULT_TEXT_LIMIT
from dexbridge.connectors.slack.outgoing import sent_text

ChannelId: TypeAlias = Annotated[
    str,
    Field(
        pattern=CHANNEL_PATTERN,
        description="The channel's ID, such as C0123456789; not its #name.",
    ),
    Advice(
        "give the channel's ID, such as C0123456789, not its #name: in Slack open the channel's details, "
        "the ID is at the very bottom, or copy the channel's link, the ID is its last part"
    ),
]

_TIMESTAMP_ADVICE = Advice(
    'must be a string such as "1710000000.000100", copied digit by digit from the message; '
    "as a number it would lose digits"
)

ThreadTimestamp: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{10,}\.[0-9]{6}$",
        description='The timestamp of the thread\'s first message, as a string such as "1710000000.000100".',
    ),
    _TIMESTAMP_ADVICE,
]

ReplyTimestamp: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{10,}\.[0-9]{6}$",
        description='The timestamp of the reply, as a string such as "1710000001.000200".',
    ),
    _TIMESTAMP_ADVICE,
]


def _text_rules(limit: int) -> Any:
    return Field(
        min_length=1,
        max_length=limit,
        pattern=r"\S",
        description=(
            f"The message, at most {limit} characters, where & < and > count as the 5, 4 and 4 that are sent. It is "
            "shown literally, character by character: *, _, ~, `, quotes, :emoji: codes and <@U...> have no effect, "
            "and nobody is notified; links can be clicked. Set markdown for formatting."
        ),
    )


def _text_advice(limit: int) -> Advice:
    return Advice(f"write 1 to {limit:,} characters of text, and split a longer message into several")


MessageText: TypeAlias = Annotated[str, _text_rules(DEFAULT_TEXT_LIMIT), NotBlank, _text_advice(DEFAULT_TEXT_LIMIT)]

RawMrkdwn: TypeAlias = Annotated[
    bool,
    Field(
        description=(
            "Send the text as Slack mrkdwn, unescaped: <@U...> and <!channel> then notify people, and "
            "&, < and > that are meant as characters must be written as &amp;, &lt; and &gt;."
        )
    ),
]

Markdown: TypeAlias = Annotated[
    bool | None,
    Field(
        description=(
            "The text is Markdown: show **bold**, *italic*, ~~struck~~, `code`, [label](https://...), headings, "
            "bullets and quotes formatted, and :emoji: codes as emoji. It still notifies nobody."
        )
    ),
]

UnfurlLinks: TypeAlias = Annotated[bool, Field(description="Show previews of the links in the message.")]


class _PostInput(OperationInput):
    """What both posts check of their text as a whole."""

    text_limit: ClassVar[int] = DEFAULT_TEXT_LIMIT

    @model_validator(mode="after")
    def _check_sent(self) -> Self:
        given = cast("PostChannelMessageInput", self)
        if given.raw_mrkdwn and given.markdown:
            raise ValueError("markdown: cannot be combined with raw_mrkdwn; set the one the text is written in")
        size = len(sent_text(given.text, raw_mrkdwn=given.raw_mrkdwn, markdown=bool(given.markdown)))
        if size > self.text_limit:
            raise ValueError(
                f"text: is {size:,} characters long as it is sent, with & < and > as &amp; &lt; and &gt;, the limit is "
                f"{self.text_limit:,}; split it into several messages"
            )
        return self


class PostChannelMessageInput(_PostInput):
    """Arguments of postChannelMessage."""

    channel_id: ChannelId
    text: MessageText
    markdown: Markdown = None
    raw_mrkdwn: RawMrkdwn = False
    unfurl_links: UnfurlLinks = False


class PostThreadReplyInput(_PostInput):
    """Arguments of postThreadReply."""

    channel_id: ChannelId
    thread_timestamp: ThreadTimestamp
    text: MessageText
    markdown: Markdown = None
    raw_mrkdwn: RawMrkdwn = False
    unfurl_links: UnfurlLinks = False


PostInput = TypeVar("PostInput", PostChannelMessageInput, PostThreadReplyInput)


def with_text_limit(model: type[PostInput], limit: int) -> type[PostInput]:
    """The input model with a connection's own limit on the text, in its check and in its schema."""
    if limit == DEFAULT_TEXT_LIMIT:
        return model
    text = Annotated[str, _text_rules(limit), NotBlank, _text_advice(limit)]
    limited = create_model(model.__name__, __base__=model, text=(text, ...))
    limited.text_limit = limit
    return limited


def for_channels(model: type[PostInput], channels: Sequence[str]) -> type[PostInput]:
    """The input model of a connection that may post to these channels only; none means any."""
    if not channels:
        return model
    allowed: Any = Annotated[
        Literal[tuple(channels)],
        Field(description="The ID of one of the channels this connection may post to."),
        Advice(f"this connection may post to {', '.join(channels)} only"),
    ]
    return create_model(model.__name__, __base__=model, channel_id=(allowed, ...))


class ListThreadMessagesInput(OperationInput):
    """Arguments of listThreadMessages."""

    channel_id: ChannelId
    thread_timestamp: ThreadTimestamp
    cursor: Annotated[
        str | None,
        Field(min_length=1, max_length=1_000, description="next_cursor of the page before; leave out at first."),
    ] = None
    page_size: Annotated[int, Field(ge=1, le=15, description="Messages per page, 1 to 15.")] = 15


class GetThreadReplyInput(OperationInput):
    """Arguments of getThreadReply."""

    channel_id: ChannelId
    thread_timestamp: ThreadTimestamp
    reply_timestamp: ReplyTimestamp

    @model_validator(mode="after")
    def _check_reply(self) -> GetThreadReplyInput:
        if self.reply_timestamp == self.thread_timestamp:
            raise ValueError(
                "reply_timestamp: must differ from thread_timestamp; give the reply's own timestamp, as "
                "slack_list_thread_messages shows it"
            )
        return self


class SlackMessage(OperationOutput):
    """One message. `text` is plain: entities, links and mentions are written out, as a reader sees them.

    `bot` is the name or ID of the bot that wrote it, None when a person did.
    """

    channel_id: str
    timestamp: str
    thread_timestamp: str | None = None
    user_id: str | None = None
    bot: str | None = None
    text: str


class PostedMessage(OperationOutput):
    """Output of both post operations. `note` says when the message does not stand where it was asked to."""

    message: SlackMessage
    note: str | None = None


class ThreadReply(OperationOutput):
    """Output of getThreadReply."""

    message: SlackMessage


class ThreadMessages(OperationOutput):
    """Output of listThreadMessages: one page, oldest first."""

    messages: tuple[SlackMessage, ...]
    next_cursor: str | None = None
