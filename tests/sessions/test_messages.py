"""Messages with an ID of the caller's own are accepted once."""

from __future__ import annotations

import asyncio

from dexbridge.sessions import EventKind
from tests.sessions.conftest import Opening

BOTH_DATABASES = True


async def test_the_same_id_and_text_are_accepted_once(opening: Opening) -> None:
    async with opening() as talk:
        accepted = await asyncio.gather(*(talk.say("hello", message_id="m-1") for _ in range(6)))
        assert accepted == [True] * 6
        assert await talk.answer() == "you said hello"
        assert not await talk.say("goodbye", message_id="m-1")
        assert not await talk.client.steer("s-1", "goodbye", message_id="m-1")
        assert await talk.client.steer("s-1", "hello", message_id="m-1")
        kinds = [e.kind for e in await talk.events()]
        assert kinds.count(EventKind.MESSAGE_ACCEPTED) == kinds.count(EventKind.TURN_ANSWERED) == 1
    async with opening() as talk:
        assert await talk.say("hello", message_id="m-1")
        assert await talk.ask("next") == "you said next"
        await talk.client.start_session("s-2")
        assert await talk.client.send_user_message("s-2", "another session's", message_id="m-1")


async def test_a_message_that_was_refused_may_be_sent_again(opening: Opening) -> None:
    async with opening() as talk:
        await talk.client.end_session("s-1")
        assert not await talk.say("hello", message_id="m-1")
        assert not await talk.say("other", message_id="m-1")
