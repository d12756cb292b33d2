"""What a session leaves on the server: split, versioned, and gone when it is pruned."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from dexbridge.sessions import SessionLimits, UnknownSession, UnreadableSession
from dexbridge.sessions.engines.dex.kept.stored import Envelope, decode
from tests.engines.dex.conftest import PeerDatabase
from tests.engines.dex.peer.values import MOST_BYTES
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Opening, Talk

WRITTEN_BY_VERSION_1 = (
    '{"format":1,"value":{"version":3,"token":"a","updated_at":"2026-11-30T12:00:00Z","state":{"session_id":"s-1",'
    '"flow_type":"support","conversation_id":"c","created_at":"2026-11-30T12:00:00Z","status":"running","turn":1,'
    '"step_counts":{"RunModel":1},"due":{"type":"RunModel","number":1},"legs":1,"leg":{"number":1}}}}'
)


def test_what_the_first_format_wrote_can_be_read() -> None:
    envelope = decode(Envelope, WRITTEN_BY_VERSION_1, "s-1")
    assert envelope.state.due is not None
    assert (envelope.version, envelope.state.due.id, envelope.segments) == (3, "RunModel-1", ())


@pytest.mark.parametrize(
    "text", ['{"format":2,"value":{}}', '{"format":1,"value":{"version":1}}', "{}", "nothing", '{"format":true}']
)
def test_what_cannot_be_read_is_said(text: str) -> None:
    with pytest.raises(UnreadableSession, match="'s-1' holds what this version"):
        decode(Envelope, text, "s-1")


async def test_a_long_transcript_is_split_and_read_again(opening: Opening, database: PeerDatabase) -> None:
    long = "é" * 150_000
    limits = SessionLimits(message_characters=200_000)
    async with opening(limits=limits) as talk:
        assert await talk.ask(long) == f"you said {long}"
    assert len(database.entries("s-1", "transcript")) > 8
    # The pieces that are too many for one request go ahead of the commit that names them.
    assert database.peer.rpcs.index("stage") < len(database.peer.rpcs) - 1
    async with opening(limits=limits) as talk:
        assert await talk.ask("and again") == "you said and again"
    assert database.peer.largest_value < MOST_BYTES


async def test_messages_that_would_make_the_state_too_large_are_refused(opening: Opening) -> None:
    async with opening(FunctionTool(rule=True), limits=SessionLimits(message_characters=300_000)) as talk:
        await talk.say('call cancel_order {"order_id": "7"}')
        await talk.interrupt()
        assert [await talk.say("x" * 300_000) for _ in range(2)] == [True, False]
        assert await talk.say("short")


async def test_every_value_names_its_format(opening: Opening, database: PeerDatabase) -> None:
    async with opening(FunctionTool()) as talk:
        await talk.say('call cancel_order {"order_id": "7"}', "message-1")
        await talk.answer()
    for name, values in {
        name: database.entries("s-1", name) for name in ("messages", "events", "calls", "attempts")
    }.items():
        assert values, name
        assert {json.loads(text)["format"] for text in values.values()} == {1}
    assert len(database.entries("s-1", "message-keys")) == 1


async def test_a_pruned_session_leaves_its_id_and_nothing_else(opening: Opening, database: PeerDatabase) -> None:
    async with opening(FunctionTool()) as talk:
        await talk.say('call cancel_order {"order_id": "secret-7"}', "message-1")
        await talk.answer()
        await talk.client.start_session("s-2")
        assert await talk.client.prune(timedelta(days=1)) == []
        assert sorted(await talk.client.prune(timedelta(0))) == ["s-1", "s-2"]
        for session_id in ("s-1", "s-2"):
            with pytest.raises(UnknownSession):
                await Talk(talk.client, session_id).snapshot()
        assert await talk.client.list_sessions() == []
        assert not await talk.client.start_session("s-1")
        assert await talk.client.prune(timedelta(0)) == []
    left = database.peer.flows["s-1"].attributes
    assert list(left) == ["session"]
    assert "secret-7" not in left["session"].string_value
