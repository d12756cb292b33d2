"""Slack's four operations and the look-up against backlot, a Slack others wrote."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import aiohttp

from benchmarks.others.calls import dump, make, prepare, told
from benchmarks.others.findings import Finding
from benchmarks.others.servers import Between, free_port, installed, running
from dexbridge.connectors import slack
from dexbridge.connectors.slack.definition import SLACK
from dexbridge.connectors.testing import MemoryConnection, MemoryProject

REPLIES: Final = 17
"""Two more than a page of ours holds with the thread's first message."""

TEXT: Final = "*Order* 1042 & <!channel> `a < b` :tada: > quote"

_ROOT: Final = {"author_email": "bob@shop.example", "created": "2026-02-10T18:00:00Z"}
_CORPUS: Final = (
    {
        **_ROOT,
        "source_type": "slack",
        "channel": "support",
        "content": "Where is order 1042? a &lt; b &amp;&amp; c, see <https://shop.example/1042|the order>",
        "replies": [
            {
                "author_email": "ava@shop.example",
                "created": f"2026-02-10T18:{minute:02}:40Z",
                "content": f"Note {minute}",
            }
            for minute in range(1, REPLIES + 1)
        ],
    },
    {**_ROOT, "source_type": "slack", "channel": "quiet", "content": "Nobody answered me."},
)

_ENVIRONMENT: Final = {"BACKLOT_TELEMETRY": "0", "DO_NOT_TRACK": "1"}
"""It counts its uses and sends the counts away, unless told not to."""


@asynccontextmanager
async def backlot() -> AsyncGenerator[str]:
    """Runs backlot with our two channels; gives its address."""
    python = installed("slack/bin/python")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        corpus = folder / "corpus.jsonl"
        corpus.write_text("\n".join(json.dumps(record) for record in _CORPUS))
        environment = {**_ENVIRONMENT, "BACKLOT_DATA_DIR": scratch}
        reading = await asyncio.create_subprocess_exec(
            python,
            *("-m", "backlot", "import", corpus),
            cwd=folder,
            env={**os.environ, **environment},
            stdout=asyncio.subprocess.DEVNULL,
        )
        if await reading.wait():
            raise RuntimeError("backlot refused the corpus.")
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        command = (python, "-m", "backlot", "serve", "--port", str(port), "--log-level", "warning")
        async with running(command, f"{url}/health", folder=folder, environment=environment):
            yield url


async def look_at_slack() -> tuple[Finding, ...]:
    """Everything that is looked at, in order."""
    async with backlot() as url, Between(url).open() as between:
        return await _Look(url, between).all()


class _Look:
    def __init__(self, url: str, between: Between) -> None:
        self._url = url
        self._between = between
        self._found: list[Finding] = []

    def _see(self, name: str, right: object, seen: object) -> None:
        self._found.append(Finding(name, str(right), str(seen)))

    async def all(self) -> tuple[Finding, ...]:
        bot, user = await self._tokens()
        self._connection = MemoryConnection(
            "slack",
            "others",
            configuration={"endpoint": f"{self._between.url}/slack/api"},
            credentials={"bot_token": bot, "user_token": user},
        )
        project = MemoryProject(self._connection)
        self._slack = slack.new_project_connection(project, "others", settling_time=timedelta(0))
        self._token = bot
        support, quiet = await self._channel("support"), await self._channel("quiet")
        root = (await self._ask("conversations.history", channel=support))["messages"][0]["ts"]
        standalone = (await self._ask("conversations.history", channel=quiet))["messages"][0]["ts"]
        try:
            await self._live()
            await self._reads(support, root)
            await self._looks_up_unsent(support, root, quiet, standalone)
            await self._posts(support, root)
            await self._looks_up_lost(quiet, standalone)
            await self._refusals(support, root)
        finally:
            await project.close()
        return tuple(self._found)

    async def _tokens(self) -> tuple[str, str]:
        async with aiohttp.ClientSession() as session, session.get(f"{self._url}/_meta/users") as answer:
            users = await answer.json()
        return users["admin_token"], users["users"][0]["token"]

    async def _ask(self, method: str, **arguments: str) -> dict[str, Any]:
        """Asks the server itself, past the Connector."""
        headers = {"Authorization": f"Bearer {self._token}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(f"{self._url}/slack/api/{method}", params=arguments) as answer,
        ):
            return await answer.json()

    async def _channel(self, name: str) -> str:
        channels = (await self._ask("conversations.list"))["channels"]
        return next(channel["id"] for channel in channels if channel["name"] == name)

    async def _texts(self, channel: str) -> list[str]:
        return [message["text"] for message in (await self._ask("conversations.history", channel=channel))["messages"]]

    async def _live(self) -> None:
        assert SLACK.check_live is not None
        live = await SLACK.check_live(self._connection)
        self._see("config check --live accepts both tokens", True, live.ok)
        self._see("auth.test names the scopes of a token", True, "bot_token" in live.scopes)

    async def _reads(self, channel: str, root: str) -> None:
        thread = {"channel_id": channel, "thread_timestamp": root}
        listed = await make(self._slack.list_thread_messages(), **thread)
        page = dump(listed.output)
        messages = page.get("messages", ())
        self._see("listThreadMessages reads a thread", "read", listed.outcome)
        self._see("its messages are the thread's, oldest first", "Note 1, Note 2", _texts_of(messages[1:3]))
        self._see(
            "entities and links are read as plain text",
            "Where is order 1042? a < b && c, see the order (https://shop.example/1042)",
            _texts_of(messages[:1]),
        )
        self._see("a person's message names no bot", None, messages[0]["bot"])
        self._see("a page holds at most what was asked for", 15, len(messages))
        self._see("a page that is not the last has a cursor", True, page.get("next_cursor") is not None)
        self._see("an answer has a request ID", True, listed.attempt is not None and _request_id(listed.attempt) != "")
        reply = await make(self._slack.get_thread_reply(), **thread, reply_timestamp=messages[2]["timestamp"])
        self._see("getThreadReply finds a reply", "found", reply.outcome)
        self._see("it is that reply", "Note 2", dump(reply.output).get("message", {}).get("text"))
        missing = await make(self._slack.get_thread_reply(), **thread, reply_timestamp="1770746999.000100")
        self._see("getThreadReply of a reply that is not there", "notFound, NOT_FOUND", missing.outcome)
        gone = await make(self._slack.list_thread_messages(), channel_id=channel, thread_timestamp="1770000000.000100")
        self._see("listThreadMessages of a thread that is not there", "providerRejected, NOT_FOUND", gone.outcome)

    async def _looks_up_unsent(self, channel: str, root: str, quiet: str, standalone: str) -> None:
        reply = prepare(self._slack.post_thread_reply(), channel_id=channel, thread_timestamp=root, text="Not sent")
        self._see("look-up of a reply that was not sent", "not sent", told(await reply.look_up()))
        lone = prepare(self._slack.post_thread_reply(), channel_id=quiet, thread_timestamp=standalone, text="Not sent")
        self._see("the same where the message has no replies yet", "not sent", told(await lone.look_up()))
        message = prepare(self._slack.post_channel_message(), channel_id=channel, text="Not sent")
        self._see("look-up of a message that was not sent", "not sent", told(await message.look_up()))

    async def _posts(self, channel: str, root: str) -> None:
        message = await make(self._slack.post_channel_message(), channel_id=channel, text=TEXT)
        self._see("postChannelMessage posts", "sent", message.outcome)
        self._see("Slack has no warning about the request", None, json.loads(self._between.last_body).get("warning"))
        posted = dump(message.output).get("message", {})
        where = {"channel_id": channel, "timestamp": posted.get("timestamp", "")}
        reply = await make(
            self._slack.post_thread_reply(),
            channel_id=channel,
            thread_timestamp=where["timestamp"],
            text="On its way, 50 % sure & <soon>",
        )
        self._see("postThreadReply posts in a message's thread", "sent", reply.outcome)
        answer = dump(reply.output).get("message", {})
        self._see("the answer names that thread", where["timestamp"], answer.get("thread_timestamp"))
        thread = {"channel_id": channel, "thread_timestamp": where["timestamp"]}
        listed = dump((await make(self._slack.list_thread_messages(), **thread)).output).get("messages", ())
        self._see("what was posted is read back as it was given", TEXT, _texts_of(listed[:1]))
        blocks = (await self._ask("conversations.replies", channel=channel, ts=where["timestamp"]))["messages"][0][
            "blocks"
        ]
        elements = [element["type"] for block in blocks for part in block["elements"] for element in part["elements"]]
        self._see("its blocks are kept as they were sent, literal text", ["text"], elements)
        self._see("so is the reply", "On its way, 50 % sure & <soon>", _texts_of(listed[1:]))
        self._see("both name the bot that wrote them", True, all(message["bot"] for message in listed))
        nested = await make(
            self._slack.post_thread_reply(),
            channel_id=channel,
            thread_timestamp=answer.get("timestamp", ""),
            text="To the reply",
        )
        self._see("a reply to a reply is posted", "sent", nested.outcome)
        nested_message = dump(nested.output).get("message", {})
        self._see("it stands in the thread of that reply", where["timestamp"], nested_message.get("thread_timestamp"))
        self._see("and the result says so", True, bool(dump(nested.output).get("note")))
        lost = await make(
            self._slack.post_thread_reply(), channel_id=channel, thread_timestamp="1770000000.000100", text="Nowhere"
        )
        self._see("a reply to a thread that is not there stands in the channel", "sentOutsideThread", lost.outcome)
        self._see("each message is there once", 1, (await self._texts(channel)).count("Nowhere"))
        self._see("look-up of a reply that was sent", "sent", told(await reply.look_up()))
        unsent = prepare(self._slack.post_thread_reply(), channel_id=channel, thread_timestamp=root, text="Not sent")
        self._see("look-up in a thread without messages of bots", "not sent", told(await unsent.look_up()))

    async def _looks_up_lost(self, channel: str, root: str) -> None:
        self._between.loses_answers = True
        reply = prepare(self._slack.post_thread_reply(), channel_id=channel, thread_timestamp=root, text="Lost reply")
        message = prepare(self._slack.post_channel_message(), channel_id=channel, text="Lost message")
        await reply.send()
        await message.send()
        self._between.loses_answers = False
        self._see("a reply whose answer is lost", "uncertain, TRANSPORT", reply.outcome)
        self._see("a message whose answer is lost", "uncertain, TRANSPORT", message.outcome)
        replies = (await self._ask("conversations.replies", channel=channel, ts=root))["messages"]
        self._see("the reply was sent once", 1, [each["text"] for each in replies].count("Lost reply"))
        self._see("the message was sent once", 1, (await self._texts(channel)).count("Lost message"))
        self._see("look-up of a reply whose answer was lost", "sent", told(await reply.look_up()))
        self._see("look-up of a message whose answer was lost", "sent", told(await message.look_up()))

    async def _refusals(self, channel: str, root: str) -> None:
        nowhere = await make(self._slack.post_channel_message(), channel_id="C0000000009", text="Hello")
        self._see("a channel that is not there", "providerRejected, NOT_FOUND", nowhere.outcome)
        self._connection.set_credential("bot_token", "xoxb-not-a-token")
        refused = await make(self._slack.post_channel_message(), channel_id=channel, text="Hello")
        self._see("a post with a wrong token", "providerRejected, AUTHENTICATION", refused.outcome)
        self._connection.set_credential("user_token", "xoxp-not-a-token")
        unread = await make(self._slack.list_thread_messages(), channel_id=channel, thread_timestamp=root)
        self._see("a read with a wrong token", "providerRejected, AUTHENTICATION", unread.outcome)
        self._see("nothing of it was posted", 0, (await self._texts(channel)).count("Hello"))


def _texts_of(messages: Any) -> str:
    return ", ".join(message["text"] for message in messages)


def _request_id(attempt: Any) -> str:
    receipt = getattr(attempt, "receipt", None)
    return (receipt.provider_request_id if receipt is not None else None) or ""
