"""Databases that earlier versions wrote: the present code opens them and goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dexbridge.sessions import (
    CallRecord,
    EventKind,
    NewerDatabase,
    SessionStatus,
    UnreadableSession,
    open_engine,
)
from dexbridge.toolsource import OutcomeKind
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Database, Opening, Talk, flow_of

BOTH_DATABASES = True
HISTORIES = {path.stem: json.loads(path.read_text()) for path in (Path(__file__).parent / "histories").glob("*.json")}
UNKNOWN = OutcomeKind.OUTCOME_UNKNOWN


async def restore(database: Database, tables: Mapping[str, list[dict[str, Any]]]) -> None:
    """A database with the rows of a history; the engine's own workflows are lost, as after a restore."""
    async with open_engine(database.url, [flow_of([])], run_steps=False):
        pass
    database.write("delete from dexbridge_schema")
    for table, rows in tables.items():
        for row in rows:
            names = ", ".join(row)
            database.write(f"insert into {table} ({names}) values ({', '.join(f':{name}' for name in row)})", **row)


@pytest.mark.parametrize("version", HISTORIES)
async def test_every_session_of_an_older_version_goes_on(opening: Opening, database: Database, version: str) -> None:
    await restore(database, HISTORIES[version])
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        for name in ("new", "answered", "failed", "unknown", "done", "cancelled"):
            each = Talk(talk.client, name)
            before = await each.snapshot()
            assert before.state.status is SessionStatus.IDLE
            assert (await each.ask("and now?")).endswith("you said and now?")
            after = await each.snapshot()
            assert after.messages[: len(before.messages)] == before.messages
            assert after.calls == before.calls
        (call,) = (await Talk(talk.client, "unknown").snapshot()).calls
        assert call.outcome is UNKNOWN
        assert await talk.client.resolve_outcome("unknown", call.step_execution_id, sent=True)
        (call,) = (await Talk(talk.client, "done").snapshot()).calls
        assert (call.outcome, call.receipt, call.decision, call.decided_by) == (
            OutcomeKind.SUCCEEDED,
            {"provider_object_id": "9"},
            "approved",
            "ann",
        )
        assert not await Talk(talk.client, "ended").say("more")
        # The same message under the same ID is still the same message.
        assert await Talk(talk.client, "answered").say("hello", message_id="answered-1")
        assert not await Talk(talk.client, "answered").say("other", message_id="answered-1")

        waiting = Talk(talk.client, "waiting")
        assert await waiting.decide(await waiting.interrupt(), approved=True)
        first = await waiting.event(EventKind.TURN_ANSWERED)
        assert first.data["text"] == "done with 7"
        assert (await waiting.event(EventKind.TURN_ANSWERED, after=first.sequence)).data[
            "text"
        ] == "you said afterwards"

        # What was under way when it was stopped: the segment is run again, the call is not.
        assert await Talk(talk.client, "mid-segment").answer() == "you said this too"
        await Talk(talk.client, "mid-call").answer()
        (call,) = (await Talk(talk.client, "mid-call").snapshot()).calls
        assert (call.outcome, call.attempts) == (UNKNOWN, 1)
    assert [dispatch.flow_id for dispatch in tool.dispatches] == ["waiting"]


@pytest.mark.parametrize(
    ("outcome", "approved_by", "decision"),
    [
        ("succeeded", "ann", "approved"),
        ("cancelled", "ann", "approved"),
        ("rejected", "ann", "rejected"),
        ("rejected", None, "rejected"),
        ("succeeded", None, None),
    ],
)
def test_a_record_that_named_who_rejected_as_who_approved_is_read_as_what_it_was(
    outcome: str, approved_by: str | None, decision: str | None
) -> None:
    (stored,) = [json.loads(row["record"]) for row in HISTORIES["1"]["dexbridge_calls"] if row["session_id"] == "done"]
    assert stored["approved_by"] == "ann"
    record = CallRecord.model_validate_json(json.dumps({**stored, "outcome": outcome, "approved_by": approved_by}))
    assert (record.decision, record.decided_by, record.decided_at) == (decision, approved_by, None)
    assert CallRecord.model_validate_json(record.model_dump_json()) == record


async def test_a_session_that_a_newer_version_wrote_is_left_alone(opening: Opening, database: Database) -> None:
    async with opening() as talk:
        await talk.client.start_session("newer")
        await Talk(talk.client, "newer").ask("hello")
        database.change_state("newer", lambda state: state.update(invented={"secret": 1}, status="running"))
        database.write("update dexbridge_sessions set status = 'running' where session_id = 'newer'")
        before = database.rows("select * from dexbridge_sessions where session_id = 'newer'")
        newer = Talk(talk.client, "newer")
        for ask in (newer.say("more"), newer.snapshot(), newer.cancel(), talk.client.end_session("newer")):
            with pytest.raises(UnreadableSession, match=r"'newer'.*\(SessionState: invented\).*upgrade") as raised:
                await ask
            assert "secret" not in str(raised.value)
        # Others are served as ever, and the one is still listed.
        assert await talk.ask("hello") == "you said hello"
        assert ("newer", "unreadable") in [(s.session_id, s.status) for s in await talk.client.list_sessions()]
        assert database.rows("select * from dexbridge_sessions where session_id = 'newer'") == before


async def test_a_session_from_before_what_is_promised_is_left_alone(opening: Opening, database: Database) -> None:
    async with opening() as talk:
        assert await talk.ask("hello") == "you said hello"
        await talk.client.start_session("older")
        await Talk(talk.client, "older").ask("hello")
        database.change_state("older", lambda state: state.pop("flow_type"))
        before = database.rows("select * from dexbridge_sessions where session_id = 'older'")
        with pytest.raises(UnreadableSession, match=r"another version wrote it.*before dexbridge 0\.1"):
            await Talk(talk.client, "older").say("more")
        assert ("older", "unreadable") in [(s.session_id, s.status) for s in await talk.client.list_sessions()]
        assert database.rows("select * from dexbridge_sessions where session_id = 'older'") == before


async def test_tables_that_a_newer_version_changed_are_not_opened(opening: Opening, database: Database) -> None:
    async with opening() as talk:
        await talk.ask("hello")
    assert database.rows("select number from dexbridge_schema") == [(1,)]
    database.write("update dexbridge_schema set number = 2")
    with pytest.raises(NewerDatabase, match="version 2 of dexbridge's tables, this process knows version 1: upgrade"):
        async with opening():
            raise AssertionError
    database.write("update dexbridge_schema set number = 1")
    async with opening() as talk:
        assert await talk.ask("again") == "you said again"
