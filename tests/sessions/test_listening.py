"""Text as the model writes it: best effort, in the Worker's process. Events: everything, in order, live."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from dexbridge.sessions import (
    Answered,
    CallResult,
    Conversation,
    EventKind,
    InvalidRequest,
    SegmentEnd,
    TranscriptEntry,
    UnknownSession,
)
from tests.sessions.conftest import Database, Opening, Talk
from tests.sessions.worker_processes import visitor


class Speaking:
    """Writes its answer in pieces."""

    async def run_until_call(self, conversation: Conversation, prompts: Sequence[str]) -> SegmentEnd:
        for piece in ("Hel", "lo ", conversation.session_id):
            conversation.say(piece)
            await asyncio.sleep(0)
        return Answered(f"Hello {conversation.session_id}", (TranscriptEntry("{}"),))

    async def give_result(self, conversation: Conversation, result: CallResult, prompts: object = ()) -> SegmentEnd:
        raise AssertionError

    async def close(self) -> None:
        return


async def heard(talk: Talk, pieces: list[str]) -> None:
    async for piece in talk.client.listen(talk.session_id):
        pieces.append(piece)


async def test_each_listener_hears_its_session_until_the_engine_closes(opening: Opening) -> None:
    first: list[str] = []
    second: list[str] = []
    async with opening(runner=Speaking()) as talk:  # pyright: ignore[reportArgumentType]
        other = Talk(talk.client, "s-2")
        await other.client.start_session("s-2")
        listening = [asyncio.create_task(heard(talk, first)), asyncio.create_task(heard(other, second))]
        await asyncio.sleep(0)
        assert await talk.ask("hi") == "Hello s-1"
        assert await other.ask("hi") == "Hello s-2"
        assert await talk.ask("hi") == "Hello s-1"
        with pytest.raises(UnknownSession):
            talk.client.listen("\x00")
    await asyncio.wait_for(asyncio.gather(*listening), 5)
    assert (first, second) == (["Hel", "lo ", "s-1"] * 2, ["Hel", "lo ", "s-2"])


async def test_a_client_process_cannot_listen_and_is_told(database: Database) -> None:
    async with visitor(database) as talk:
        with pytest.raises(InvalidRequest, match="Worker's process only"):
            talk.client.listen("s-1")
        for after in (-1, 2**31):
            with pytest.raises(InvalidRequest, match="after must be"):
                talk.client.read_events("s-1", after=after)


async def test_many_followers_see_every_event_in_order(opening: Opening) -> None:
    async with opening() as talk:

        async def follow() -> list[int]:
            seen: list[int] = []
            async for event in talk.client.read_events("s-1", follow=True):
                seen.append(event.sequence)
                if event.kind is EventKind.SESSION_ENDED:
                    return seen
            raise AssertionError

        following = [asyncio.create_task(follow()) for _ in range(20)]
        for number in range(4):
            await talk.ask(f"m{number}")
        await talk.client.end_session("s-1")
        for seen in await asyncio.wait_for(asyncio.gather(*following), 20):
            assert seen == list(range(1, len(seen) + 1))
