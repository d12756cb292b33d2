"""The list of sessions says what each is doing and what it wants from a person."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from dexbridge.sessions import AgentSessionClient, InvalidRequest, SegmentFailed, open_engine
from dexbridge.toolsource import AttemptResult, Dispatch, Unsettled
from tests.fakes.function_tool import FunctionTool
from tests.fakes.scripted_runner import ScriptedRunner
from tests.sessions.conftest import Database, Opening, Talk

BOTH_DATABASES = True
CANCEL = 'call cancel_order {"order_id": "7"}'


async def lost(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
    return Unsettled("cut")


async def test_a_line_says_what_its_session_wants(opening: Opening) -> None:
    asks = FunctionTool(rule=True)
    loses = FunctionTool(name="send_parcel", rule=False, function=lost)
    runner = ScriptedRunner()
    async with opening(asks, loses, runner=runner) as talk:
        talks = {name: Talk(talk.client, name) for name in ("asks", "fails", "knows", "loses", "new", "quiet")}
        for name in talks:
            await talk.client.start_session(name)
        await talks["asks"].say(CANCEL)
        interrupt = await talks["asks"].interrupt()
        await talks["loses"].ask('call send_parcel {"order_id": "7"}\ncall send_parcel {"order_id": "8"}')
        # What only mentions an unknown outcome is none.
        await talks["knows"].say('call cancel_order {"order_id": "outcome_unknown"}')
        await talks["knows"].decide(await talks["knows"].interrupt(), approved=False)
        await talks["knows"].answer()
        await talks["quiet"].ask("hello " * 30)
        runner.failures.append(SegmentFailed("no", permanent=True))
        await talks["fails"].ask("hello")

        lines = {line.session_id: line for line in await talk.client.list_sessions()}

    assert set(lines) == {*talks, "s-1"}
    assert {name: line.wants for name, line in lines.items() if line.wants} == {"asks": 1, "loses": 2}
    assert lines["asks"].interrupt == interrupt
    assert [call.arguments["order_id"] for call in lines["loses"].unknown] == ["7", "8"]
    assert [name for name, line in lines.items() if line.failed] == ["fails"]
    assert {name: line.status for name, line in lines.items()} == dict.fromkeys(lines, "idle") | {"asks": "waiting"}
    assert (lines["new"].title, lines["fails"].title) == ("", "hello")
    assert lines["quiet"].title == ("hello " * 30)[:100]


async def test_a_call_that_was_decided_is_not_pending_before_a_worker_makes_it(
    opening: Opening, database: Database
) -> None:
    asks = FunctionTool(rule=True)
    async with opening(asks) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
        assert (await talk.snapshot()).to_json()["snapshot"]["pending_interrupts"] != []
    async with open_engine(database.url, run_steps=False) as engine:
        talk = Talk(AgentSessionClient(engine, "support"))
        assert await talk.decide(interrupt, approved=True)
        snapshot = await talk.snapshot()
        (line,) = await talk.client.list_sessions()
    # The question and its decision are in the state until a Worker goes on.
    assert snapshot.state.interrupt == interrupt
    assert (snapshot.state.pending_interrupt, snapshot.to_json()["snapshot"]["pending_interrupts"]) == (None, [])
    assert (line.interrupt, line.wants) == (None, 0)
    async with opening(asks) as talk:
        assert await talk.answer() == "done with 7"


async def test_only_what_changed_since_then(opening: Opening) -> None:
    async with opening() as talk:
        await talk.ask("hello")
        before = (await talk.client.list_sessions())[0].updated_at
        await Talk(talk.client, "s-1").ask("hello again")
        (line,) = await talk.client.list_sessions(changed_since=before)
        assert line.updated_at > before
        for hours in (-8, 0, 9):
            # The same moment, whose digits are smaller in the west and larger in the east.
            then = line.updated_at.astimezone(timezone(timedelta(hours=hours)))
            assert len(await talk.client.list_sessions(changed_since=then)) == 1
            assert await talk.client.list_sessions(changed_since=then + timedelta(microseconds=1)) == []
        with pytest.raises(InvalidRequest, match="time zone"):
            await talk.client.list_sessions(changed_since=datetime.now(UTC).replace(tzinfo=None))
