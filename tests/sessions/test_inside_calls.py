"""Calls that run inside a segment: their events are committed alone, and not for a run that another has replaced."""

from __future__ import annotations

import asyncio

from dexbridge.sessions import EventKind, InsideCall, SegmentFailed
from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import Database, Opening, Talk, until
from tests.sessions.test_fencing import take_over

BOTH_DATABASES = True
BASH = InsideCall("Bash", "toolu_1", {"command": "ls"})


async def test_the_event_of_a_call_inside_is_kept_when_its_segment_fails(opening: Opening) -> None:
    deep = InsideCall("mcp__own__report", "toolu_2", {"text": "\ud83d" + "x" * 10_000}, by_subagent=True)
    runner = ScriptedRunner(failures=[SegmentFailed("busy")], inside=[BASH, deep])
    async with opening(runner=runner) as talk:
        assert await talk.ask("hello") == "you said hello"
        events = [event for event in await talk.events() if event.kind is EventKind.INSIDE_CALL_BEGAN]
        snapshot = await talk.snapshot()

    assert [event.data["segment_attempt"] for event in events] == [1, 1, 2, 2]
    assert events[0].data == {
        "turn": 1,
        "step_execution_id": "RunModel-1",
        "run": 1,
        "segment_attempt": 1,
        "tool": "Bash",
        "tool_use_id": "toolu_1",
        "arguments": '{"command": "ls"}',
        "by_subagent": False,
    }
    assert len(events[1].data["arguments"]) == 300
    assert events[1].data["by_subagent"]
    # Nothing else of the state was touched by them.
    assert (snapshot.state.transcript_rows, snapshot.state.turn, snapshot.state.due) == (2, 1, None)


async def test_nothing_begins_inside_a_session_that_was_taken_over(opening: Opening, database: Database) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait(_segment: Segment) -> None:
        begun.set()
        await go_on.wait()

    ran: list[Segment] = []

    async def after(segment: Segment) -> None:
        ran.append(segment)

    runner = ScriptedRunner(before=wait, after=after, inside=[BASH])
    async with opening(runner=runner) as talk:
        await talk.say("hello")
        await begun.wait()
        take_over(database)
        go_on.set()
        await talk.client.start_session("s-2")
        assert await Talk(talk.client, "s-2").ask("hello") == "you said hello"
        await until(lambda: database.workflows()["dexbridge:s-1:leg-1:direct"] == "SUCCESS")
        assert EventKind.INSIDE_CALL_BEGAN not in [event.kind for event in await talk.events()]
    # Only the other session's segment came past the beginning of its call.
    assert len(ran) == 1
