"""One text form, out and in: what a person sees of what was written, and what the model reads of what people wrote."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    BranchTaken,
    Call,
    FoundSent,
    InvalidInput,
    Reconciliation,
    slack,
)
from dexbridge.connectors.slack import PostedMessage, SlackMessage, ThreadMessages
from dexbridge.connectors.slack.markdown import to_mrkdwn
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import DropAfterPost
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, SEEDED_THREAD, Post

Reply = Callable[..., Awaitable[Attempt]]
Look = Callable[..., Awaitable[Reconciliation]]
CallFor = Callable[[BoundOperation], Call]
IDS: dict[str, Any] = {"channel_id": SEEDED_CHANNEL, "thread_timestamp": SEEDED_THREAD}

FORMATTED = (
    "**Done** [log](https://x/y)",
    "2 *3* 4 ~x~",
    ":tada:",
    "> quote",
    "`code` _slanted_ ```fence```",
    "<!channel> <@U0CUSTOMER1> & <b>",
    "see https://x.example/a_b_c?d=1&e=2, then (https://y.example).",
    "x" * 4_000,
)


def shown(post: Post) -> str:
    """What a person sees of a post whose block holds nothing but literal text and links."""
    (block,) = post.request["blocks"]
    assert block["type"] == "rich_text"
    (section,) = block["elements"]
    assert section["type"] == "rich_text_section"
    assert all(set(each) in ({"type", "text"}, {"type", "url"}) for each in section["elements"])
    assert {each["type"] for each in section["elements"]} <= {"text", "link"}
    return "".join(each.get("text") or each["url"] for each in section["elements"])


@pytest.mark.parametrize("text", FORMATTED, ids=lambda text: text[:12])
async def test_a_text_is_shown_literally_by_default(reply: Reply, server: LocalSlack, text: str) -> None:
    assert isinstance(await reply(text=text), BranchTaken)
    assert shown(server.posts[0]) == text


async def test_links_of_a_literal_text_can_be_clicked(reply: Reply, server: LocalSlack) -> None:
    await reply(text="see https://x.example/a_b?d=1&e=2, then (https://y.example).")
    elements = server.posts[0].request["blocks"][0]["elements"][0]["elements"]
    assert [each["url"] for each in elements if each["type"] == "link"] == [
        "https://x.example/a_b?d=1&e=2",
        "https://y.example",
    ]


MARKDOWN = [
    ("**Done** [log](https://x/y)", "*Done* <https://x/y|log>"),
    ("2 *3* 4", "2 _3_ 4"),
    ("~~gone~~ and __strong__", "~gone~ and *strong*"),
    ("# Title with **bold**\n- one\n* two\n  - deep", "*Title with bold*\n• one\n• two\n  • deep"),
    ("> a **b**", "> a *b*"),
    ("`**a** <b>` & **c < d**", "`**a** &lt;b&gt;` &amp; *c &lt; d*"),
    ("```python\nif a < b:\n    **x**\n```\n**y**", "```\nif a &lt; b:\n    **x**\n```\n*y*"),
    ("snake_case_name, a * b * c, 5 > 3", "snake_case_name, a * b * c, 5 &gt; 3"),
    ("[a|b>](https://x/y|z?a=1&b=2)", "<https://x/y%7Cz?a=1&amp;b=2|a|b&gt;>"),
    ("[w](https://x/a_(b))", "<https://x/a_(b)|w>"),
    ("[x](javascript:alert(1)) <!channel> <@U012>", "[x](javascript:alert(1)) &lt;!channel&gt; &lt;@U012&gt;"),
    ("```\n**never closed** <", "```\n**never closed** &lt;\n```"),
    ("> >  > a\n>", "> a\n> "),
    ("***both*** x", "*_both_* x"),
    ("**bold *and slanted***", "*bold _and slanted_*"),
]


@pytest.mark.parametrize(("written", "sent"), MARKDOWN, ids=[row[0][:12] for row in MARKDOWN])
async def test_markdown_is_converted_when_asked(reply: Reply, server: LocalSlack, written: str, sent: str) -> None:
    await reply(text=written, markdown=True)
    assert server.posts[0].text == sent
    assert "blocks" not in server.posts[0].request


@pytest.mark.parametrize(
    "mark", ["**a ", "~", "_", "***a", "```a\n", "> ", ">  ", "*", "[", "[a](https://x", "~~a ", "# "]
)
def test_stray_marks_take_no_long_time(mark: str) -> None:
    started = time.perf_counter()
    to_mrkdwn(mark * (40_000 // len(mark)))
    assert time.perf_counter() - started < 2


async def test_slacks_own_markup_goes_as_it_is(reply: Reply, server: LocalSlack) -> None:
    await reply(text="*a* <@U0CUSTOMER1> &amp;", raw_mrkdwn=True)
    assert server.posts[0].text == "*a* <@U0CUSTOMER1> &amp;"
    assert "blocks" not in server.posts[0].request


def test_the_tool_says_how_a_text_is_shown(connection: slack.Connection) -> None:
    for bound in (connection.post_thread_reply(), connection.post_channel_message()):
        properties = bound.input_schema()["properties"]
        assert "shown literally" in properties["text"]["description"]
        assert "Markdown" in properties["markdown"]["description"]
        arguments: dict[str, Any] = {**IDS, "text": "x", "raw_mrkdwn": True, "markdown": True}
        if bound.operation.operation_id == "postChannelMessage":
            del arguments["thread_timestamp"]
        with pytest.raises(InvalidInput) as refused:
            bound.validate(arguments)
        assert refused.value.faults[0].startswith("markdown: cannot be combined with raw_mrkdwn")


def test_a_limit_counts_what_is_sent(connection: slack.Connection) -> None:
    long = slack.new_project_connection(
        MemoryProject(MemoryConnection("slack", "long", configuration={"maxMessageCharacters": 40_000})), "long"
    )
    for bound, limit in ((connection.post_thread_reply(), 4_000), (long.post_thread_reply(), 40_000)):
        assert bound.validate({**IDS, "text": "<" * (limit // 4)})
        assert bound.validate({**IDS, "text": "<" * limit, "raw_mrkdwn": True})
        with pytest.raises(InvalidInput) as refused:
            bound.validate({**IDS, "text": "<" * limit})
        assert refused.value.faults[0].startswith(f"text: is {4 * limit:,} characters long as it is sent")
        assert f"the limit is {limit:,}" in refused.value.faults[0]


async def messages(connection: slack.Connection, call_for: CallFor) -> tuple[SlackMessage, ...]:
    bound = connection.list_thread_messages()
    attempt = await bound.dispatch(call_for(bound), bound.validate(IDS))
    assert isinstance(attempt, BranchTaken)
    assert isinstance(attempt.output, ThreadMessages)
    return attempt.output.messages[1:]


async def test_what_is_read_and_quoted_back_is_escaped_once(
    connection: slack.Connection, call_for: CallFor, reply: Reply, server: LocalSlack
) -> None:
    server.workspace.post(SEEDED_CHANNEL, "a &lt; b &amp;&amp; ok &amp;lt;", thread_ts=SEEDED_THREAD)
    (read,) = await messages(connection, call_for)
    assert read.text == "a < b && ok &lt;"
    await reply(text=read.text)
    assert server.posts[1].text == "a &lt; b &amp;&amp; ok &amp;lt;"
    assert [message.text for message in await messages(connection, call_for)] == [read.text] * 2


async def test_one_calls_text_is_the_same_directly_and_after_a_look(
    reply: Reply, look_for_reply: Look, server: LocalSlack, reply_arguments: dict[str, Any]
) -> None:
    reply_arguments["text"] = "🎉 a < b && see https://x.example"
    direct = await reply()
    for post in tuple(server.posts):
        server.workspace.delete(SEEDED_CHANNEL, post.ts)
    server.fail_next("chat.postMessage", DropAfterPost())
    await reply()
    found = await look_for_reply()
    assert isinstance(direct, BranchTaken)
    assert isinstance(found, FoundSent)
    assert isinstance(direct.output, PostedMessage)
    assert isinstance(found.output, PostedMessage)
    assert direct.output.message.text == found.output.message.text == reply_arguments["text"]


READ: list[tuple[str, dict[str, Any], str]] = [
    ("a link", {"text": "<https://x.example/a?b=1&amp;c=2>"}, "https://x.example/a?b=1&c=2"),
    ("a labelled link", {"text": "<https://x.example|the log>"}, "the log (https://x.example)"),
    ("an address", {"text": "<mailto:a@b.example|a@b.example>"}, "a@b.example"),
    ("people", {"text": "<@U012> <@U013|ann> <#C012|general> <!channel> <!subteam^S1|@ops>"},
     "@U012 @ann (@U013) #general (C012) @channel @ops"),
    ("null", {"text": None}, "[content not shown]"),
    ("a number", {"text": 7}, "[content not shown]"),
    ("nothing", {"text": ""}, "[content not shown]"),
    ("an attachment", {"text": "", "attachments": [{"fallback": "CPU &gt; 90%"}]}, "CPU > 90%"),
    ("an alert", {"text": "", "attachments": [
        {"title": "High CPU", "text": "on <https://x.example|db-1>", "fields": [{"title": "Now", "value": "97%"}]}
    ]}, "High CPU\non db-1 (https://x.example)\nNow\n97%"),
    ("a section", {"text": "", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "a &lt; b"}},
                                          {"type": "divider"}]}, "a < b"),
    ("rich text", {"text": "", "blocks": [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
        {"type": "text", "text": "Hi "}, {"type": "user", "user_id": "U012"}, {"type": "text", "text": ", "},
        {"type": "link", "url": "https://x.example"}, {"type": "emoji", "name": "tada"}]}]}]},
     "Hi @U012, https://x.example:tada:"),
    ("a file", {"text": "", "files": [{"id": "F1", "name": "report.pdf"}]}, "[file: report.pdf]"),
    ("text and a file", {"text": "See", "files": [{"id": "F1"}]}, "See\n[file: F1]"),
    ("odd parts", {"text": "", "blocks": [1, {"text": 2}], "attachments": {}, "files": [None]}, "[content not shown]"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "text"), [row[1:] for row in READ], ids=[row[0] for row in READ])
async def test_what_people_and_bots_write_is_read(
    connection: slack.Connection, call_for: CallFor, server: LocalSlack, more: dict[str, Any], text: str
) -> None:
    server.workspace.post(SEEDED_CHANNEL, "", thread_ts=SEEDED_THREAD, more=more)
    server.workspace.post(SEEDED_CHANNEL, "after it", thread_ts=SEEDED_THREAD)
    assert [message.text for message in await messages(connection, call_for)] == [text, "after it"]


@pytest.mark.parametrize(
    ("more", "bot"),
    [
        ({"bot_id": "B1", "user": None}, "B1"),
        ({"bot_id": "B1", "username": "alerts"}, "alerts"),
        ({"bot_id": "B1", "bot_profile": {"name": "Deploys"}}, "Deploys"),
        ({"subtype": "bot_message", "user": None}, "a bot"),
        ({}, None),
    ],
)
async def test_a_bots_message_has_an_author(
    connection: slack.Connection, call_for: CallFor, server: LocalSlack, more: dict[str, Any], bot: str | None
) -> None:
    server.workspace.post(SEEDED_CHANNEL, "97%", thread_ts=SEEDED_THREAD, more=more)
    (read,) = await messages(connection, call_for)
    assert read.bot == bot


async def test_a_page_without_one_odd_message_is_read(
    connection: slack.Connection, call_for: CallFor, server: LocalSlack
) -> None:
    server.workspace.post(SEEDED_CHANNEL, "odd", thread_ts=SEEDED_THREAD, more={"ts": None})
    server.workspace.post(SEEDED_CHANNEL, "after it", thread_ts=SEEDED_THREAD)
    assert [message.text for message in await messages(connection, call_for)] == ["after it"]
