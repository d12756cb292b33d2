"""The user typed a token and the model repeats it in a call: it is not sent, and its arguments are shown no more."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import DropAfterPost, ErrorCode
from dexbridge.sessions import AgentSessionClient, CallRecord, EventKind, open_engine
from dexbridge.toolsource import OutcomeKind, fingerprint
from tests.fakes.function_tool import FunctionTool
from tests.fakes.slack_flow import POST, connection_file, slack_flow
from tests.sessions.conftest import Database, Opening, Talk

BOTH_DATABASES = True
MASK = "[redacted]"


@pytest.fixture
async def server() -> AsyncGenerator[LocalSlack]:
    async with LocalSlack() as local:
        yield local


@asynccontextmanager
async def opened(database: Database, folder: Path, server: LocalSlack, *, asks: bool = True) -> AsyncGenerator[Talk]:
    path = folder / "connections.json"
    if not path.exists():
        connection_file(folder, server)
    async with slack_flow(path, asks=asks) as flow, open_engine(database.url, [flow]) as engine:
        client = AgentSessionClient(engine)
        await client.start_session("s-1")
        yield Talk(client)


def post(text: str) -> str:
    return f"call {POST} {json.dumps({'channel_id': 'C0123456789', 'text': text})}"


async def calls(talk: Talk) -> list[CallRecord]:
    return list((await talk.snapshot()).calls)


async def surfaces(talk: Talk) -> str:
    """Everything a program or person reads of a session, but what was said in it."""
    snapshot = await talk.snapshot()
    whole = snapshot.to_json()["snapshot"]
    del whole["messages"]
    events = [event for event in await talk.events() if event.kind is not EventKind.MESSAGE_ACCEPTED]
    lines = await talk.client.list_sessions()
    told = [(line.interrupt, line.unknown) for line in lines]
    return f"{json.dumps(whole)}{snapshot.calls!r}{snapshot.state.interrupt!r}{events!r}{told!r}"


async def test_a_call_that_repeats_a_token_is_approved_refused_and_masked(
    database: Database, tmp_path: Path, server: LocalSlack, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = server.bot_token
    async with opened(database, tmp_path, server) as talk:
        assert await talk.say(post(f"Our token is {token}, keep it."))
        interrupt = await talk.interrupt()
        # A person decides about exactly what would be sent.
        assert interrupt.arguments["text"] == f"Our token is {token}, keep it."
        assert await talk.decide(interrupt, approved=True)
        answer = await talk.answer()
        assert server.requests == []
        (call,) = await calls(talk)
        assert (call.outcome, call.decision, call.decided_by) == (OutcomeKind.FAILED, "approved", "ann")
        assert call.arguments == {**interrupt.arguments, "text": f"Our token is {MASK}, keep it."}
        assert "text would carry a credential of the connection slack/support-slack itself. Leave it out." in call.text
        assert call.text in answer
        assert token not in answer
        assert token not in await surfaces(talk)
        (opening,) = [event for event in await talk.events() if event.kind is EventKind.INTERRUPT_OPENED]
        assert opening.data["arguments"] == call.arguments
        # What the user typed stays.
        assert token in (await talk.snapshot()).messages[0].text
    assert token not in caplog.text


async def test_what_was_typed_stays_in_the_transcript_and_no_record_or_state_holds_it(
    database: Database, tmp_path: Path, server: LocalSlack
) -> None:
    async with opened(database, tmp_path, server, asks=False) as talk:
        await talk.ask(post(f"Our token is {server.bot_token}"))
    assert server.bot_token in str(database.rows("select entry from dexbridge_transcript"))
    assert server.bot_token in str(database.rows("select message from dexbridge_messages"))
    for column in ("record from dexbridge_calls", "attempt from dexbridge_attempts", "state from dexbridge_sessions"):
        assert server.bot_token not in str(database.rows(f"select {column}"))


async def test_a_session_that_repeats_it_asks_nobody_again(
    database: Database, tmp_path: Path, server: LocalSlack
) -> None:
    async with opened(database, tmp_path, server) as talk:
        assert await talk.say(post(server.bot_token))
        assert await talk.decide(await talk.interrupt(), approved=True)
        await talk.answer()
        after = (await talk.snapshot()).last_event
        await talk.ask(post(f"Once more: {server.user_token}"))
        assert EventKind.INTERRUPT_OPENED not in [event.kind for event in await talk.events(after)]
        again = (await calls(talk))[-1]
        assert (again.outcome, again.attempts, again.decision) == (OutcomeKind.FAILED, 0, None)
        assert again.arguments["text"] == f"Once more: {MASK}"
        assert server.bot_token not in await surfaces(talk)
        assert server.user_token not in await surfaces(talk)
        # Other calls are asked about and made as ever.
        after = (await talk.snapshot()).last_event
        assert await talk.say(post("On its way."))
        assert await talk.decide(await talk.interrupt(after), approved=True)
        await talk.answer(after)
        assert [posted.text for posted in server.posts] == ["On its way."]


async def test_earlier_calls_that_held_it_are_masked_too(
    database: Database, tmp_path: Path, server: LocalSlack
) -> None:
    async with opened(database, tmp_path, server) as talk:
        assert await talk.say(post(f"First {server.bot_token}"))
        assert await talk.decide(await talk.interrupt(), approved=False, message="No tokens, please.")
        await talk.answer()
        assert server.bot_token in await surfaces(talk)
        after = (await talk.snapshot()).last_event
        assert await talk.say(post(f"Second {server.bot_token}"))
        assert await talk.decide(await talk.interrupt(after), approved=True)
        await talk.answer(after)
        assert server.bot_token not in await surfaces(talk)
        first, second = await calls(talk)
        assert (first.outcome, first.arguments["text"]) == (OutcomeKind.REJECTED, f"First {MASK}")
        assert (second.outcome, second.arguments["text"]) == (OutcomeKind.FAILED, f"Second {MASK}")
        assert (first.decision, first.text.endswith("No tokens, please.")) == ("rejected", True)


async def test_without_an_approval_it_is_refused_as_well(
    database: Database, tmp_path: Path, server: LocalSlack
) -> None:
    async with opened(database, tmp_path, server, asks=False) as talk:
        await talk.ask(post(f"<{server.user_token}>"))
        (call,) = await calls(talk)
        assert (call.outcome, call.arguments["text"]) == (OutcomeKind.FAILED, f"<{MASK}>")
        assert server.requests == []


async def test_a_new_credential_counts_without_a_restart(
    database: Database, tmp_path: Path, server: LocalSlack
) -> None:
    newer = "xoxb-1111-newer"
    async with opened(database, tmp_path, server, asks=False) as talk:
        await talk.ask(post(newer))
        assert [posted.text for posted in server.posts] == [newer]
        old, server.tokens["bot_token"] = server.bot_token, newer
        connections = tmp_path / "connections.json"
        connections.write_text(connections.read_text().replace(old, newer))
        await talk.ask(post(f"again {newer}"))
        assert len(server.posts) == 1
        assert [call.outcome for call in await calls(talk)] == [OutcomeKind.SUCCEEDED, OutcomeKind.FAILED]


async def test_a_masked_record_keeps_the_fingerprint_of_what_was_asked_for(
    database: Database, tmp_path: Path, server: LocalSlack
) -> None:
    async with opened(database, tmp_path, server, asks=False) as talk:
        await talk.ask(post(server.bot_token))
        (call,) = await calls(talk)
        asked: dict[str, Any] = {**call.arguments, "text": server.bot_token}
        assert call.fingerprint == fingerprint(asked) != fingerprint(call.arguments)


async def test_readers_of_the_log_are_closed_with_it(database: Database, tmp_path: Path, server: LocalSlack) -> None:
    async with opened(database, tmp_path, server) as talk:
        assert await talk.say(post("Hello."))
        events = talk.client.read_events("s-1", follow=True)
        async for event in events:
            if event.kind is EventKind.INTERRUPT_OPENED:
                assert event.data["arguments"]["text"] == "Hello."
                break
        assert isinstance(events, AsyncGenerator)
        await events.aclose()
        assert await talk.decide(await talk.interrupt(), approved=False)
        await talk.answer()


async def test_what_is_not_written_over(database: Database, tmp_path: Path, server: LocalSlack) -> None:
    newer = "xoxb-1111-newer"
    async with opened(database, tmp_path, server) as talk:
        server.fail_next("chat.postMessage", DropAfterPost())
        server.fail_next("conversations.history", ErrorCode("missing_scope"))
        assert await talk.say(post(f"Before it is a token: {newer}"))
        assert await talk.decide(await talk.interrupt(), approved=True)
        await talk.answer()
        old, server.tokens["bot_token"] = server.bot_token, newer
        connections = tmp_path / "connections.json"
        connections.write_text(connections.read_text().replace(old, newer))
        after = (await talk.snapshot()).last_event
        assert await talk.say(post(f"Now it is: {newer}"))
        assert await talk.decide(await talk.interrupt(after), approved=True)
        await talk.answer(after)
        first, second = await calls(talk)
        assert (first.outcome, newer in first.arguments["text"]) == (OutcomeKind.OUTCOME_UNKNOWN, True)
        assert (second.outcome, newer in second.arguments["text"]) == (OutcomeKind.FAILED, False)
    assert newer in str(database.rows("select data from dexbridge_events where kind = 'interrupt_opened'"))


async def test_a_function_of_the_application_gets_what_it_is_given(opening: Opening, server: LocalSlack) -> None:
    async with opening(FunctionTool("cancel_order")) as talk:
        await talk.ask(f"call cancel_order {json.dumps({'order_id': server.bot_token})}")
        (call,) = await calls(talk)
        assert (call.outcome, call.arguments) == (OutcomeKind.SUCCEEDED, {"order_id": server.bot_token})
