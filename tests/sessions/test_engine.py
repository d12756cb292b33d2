"""Opening, closing and opening again."""

from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from dbos import DBOS

from dexbridge.sessions import (
    AgentSessionClient,
    AgentSessionFlow,
    EngineAlreadyOpen,
    EventKind,
    InvalidRequest,
    SessionStatus,
    UnsupportedEngine,
    open_engine,
)
from dexbridge.toolsource import AttemptResult, Dispatch, OfferedTools
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import Database, Opening, Talk, flow_of, until

CANCEL = 'call cancel_order {"order_id": "7"}'


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def public_file(file: Path) -> Path:
    file.parent.mkdir(mode=0o700)
    file.touch(mode=0o644)
    return file


async def test_files_are_private(opening: Opening, file: Path) -> None:
    async with opening() as talk:
        await talk.ask("hello")
        modes = {path.name: mode(path) for path in [file.parent, *file.parent.iterdir()]}
        assert modes.pop("private") == 0o700
        assert set(modes) >= {"sessions.db", "sessions.db-wal", "sessions.db.worker"}
        assert set(modes.values()) == {0o600}


async def test_a_file_that_others_could_read_is_closed_to_them(opening: Opening, public_file: Path) -> None:
    async with opening():
        assert mode(public_file) == 0o600


async def test_one_engine_per_process(opening: Opening, tmp_path: Path) -> None:
    async with opening() as talk:
        with pytest.raises(EngineAlreadyOpen, match="close it first"):
            async with open_engine(f"sqlite:///{tmp_path}/other.db", [flow_of([])]):
                raise AssertionError
        assert await talk.ask("hello") == "you said hello"


async def test_what_cannot_be_opened_is_said_and_leaves_the_process_free(opening: Opening, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedEngine, match="scheme 'mysql'"):
        open_engine("mysql://u:password@host/db")
    with pytest.raises(InvalidRequest, match="flow_type"):
        open_engine(f"sqlite:///{tmp_path}/a.db", [flow_of([]), flow_of([])])
    for url in ("sqlite://", "sqlite:///:memory:"):
        with pytest.raises(UnsupportedEngine, match="sqlite:///path"):
            async with open_engine(url, [flow_of([])]):
                raise AssertionError
    text = tmp_path / "text.db"
    text.write_text("This is no database. " * 100)
    with pytest.raises(Exception, match="not a database"):
        async with open_engine(f"sqlite:///{text}", [flow_of([])]):
            raise AssertionError
    async with opening() as talk:
        assert await talk.ask("hello") == "you said hello"


async def test_a_client_may_come_before_the_first_worker(opening: Opening, file: Path) -> None:
    async with open_engine(f"sqlite:///{file}", [flow_of([])], run_steps=False) as engine:
        talk = Talk(AgentSessionClient(engine))
        await talk.client.start_session("s-1")
        assert await talk.say("hello")
        assert (await talk.snapshot()).state.status is SessionStatus.RUNNING
    async with opening() as talk:
        assert await talk.answer() == "you said hello"


async def test_an_approval_outlives_the_engine(opening: Opening) -> None:
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
    for _ in range(2):
        async with opening(tool) as talk:
            assert await talk.interrupt() == interrupt
            assert (await talk.snapshot()).state.status is SessionStatus.WAITING
    async with opening(tool) as talk:
        assert await talk.decide(interrupt, approved=True)
        assert await talk.answer() == "done with 7"
    assert len(tool.dispatches) == 1


async def test_a_segment_stopped_by_the_close_is_run_at_the_next_start(
    opening: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()

    async def hang(_segment: Segment) -> None:
        begun.set()
        await asyncio.sleep(60)

    runner = ScriptedRunner(before=hang)
    with caplog.at_level(logging.WARNING):
        async with opening(runner=runner) as talk:
            await talk.say("hello")
            await begun.wait()
    assert runner.closed == 1
    assert [record.getMessage() for record in caplog.records] == []
    async with opening() as talk:
        assert await talk.answer() == "you said hello"
        assert await talk.steps() == ["RunModel-1"]


async def test_a_dispatched_call_ends_and_is_recorded_before_the_close(opening: Opening) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def function(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        begun.set()
        await may_end.wait()
        return succeeded("done")

    tool = FunctionTool(function=function)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        await begun.wait()
        asyncio.get_running_loop().call_later(0.2, may_end.set)
    async with opening(tool) as talk:
        assert await talk.answer() == "done"
        assert await talk.steps() == ["RunModel-1", "CallSingleAttemptTool-1", "ResumeTurn-1", "RunModel-2"]
    assert len(tool.dispatches) == 1


async def test_the_applications_event_loop_is_as_it_was_after_a_close(opening: Opening) -> None:
    async with opening() as talk:
        await talk.ask("hello")
    assert await asyncio.to_thread(lambda: "still works") == "still works"


@DBOS.workflow(name="a_workflow_of_the_application")
async def own_workflow() -> str:
    return "done"


async def test_it_closes_in_a_loop_in_which_the_application_used_dbos(opening: Opening) -> None:
    # DBOS takes the loop's threads with it when it is closed.
    async with opening() as talk:
        handle = await DBOS.start_workflow_async(own_workflow)
        assert await handle.get_result() == "done"
        assert await talk.ask("hello") == "you said hello"


async def test_a_follower_ends_with_the_engine(opening: Opening) -> None:
    async with opening() as talk:

        async def follow() -> list[EventKind]:
            return [event.kind async for event in talk.client.read_events("s-1", follow=True)]

        following = asyncio.create_task(follow())
        await talk.ask("hello")
    kinds = await asyncio.wait_for(following, 5)
    assert kinds[0] is EventKind.SESSION_STARTED
    assert kinds[-1] is EventKind.TURN_ANSWERED


async def test_events_can_be_read_from_any_place(opening: Opening) -> None:
    async with opening() as talk:
        await talk.ask("hello")
        events = await talk.events()
        assert [e.sequence for e in events] == list(range(1, len(events) + 1))
        assert await talk.events(after=3) == events[3:]
        assert await talk.events(after=len(events)) == []
        assert (await talk.snapshot()).last_event == len(events)


@pytest.mark.slow
async def test_both_workflows_of_a_leg_end_and_one_of_them_ran_it(opening: Opening, database: Database) -> None:
    runner = ScriptedRunner()
    async with opening(runner=runner) as talk:
        await talk.ask("one")
        await talk.ask("two")

        await until(lambda: set(database.workflows().values()) == {"SUCCESS"})
        assert set(database.workflows()) == {
            f"dexbridge:s-1:leg-{leg}:{way}" for leg in (1, 2) for way in ("direct", "queued")
        }
        assert len(runner.segments) == 2
        assert await talk.steps() == ["RunModel-1", "RunModel-2"]


async def test_a_session_waits_for_a_worker_that_serves_its_flow(opening: Opening, database: Database) -> None:
    async with open_engine(database.url, [flow_of([])], run_steps=False) as engine:
        talk = Talk(AgentSessionClient(engine))
        await talk.client.start_session("s-1")
        await talk.say("hello")
    other = AgentSessionFlow("sales", ScriptedRunner(), OfferedTools([]))
    async with open_engine(database.url, [other]) as engine:
        sales = Talk(AgentSessionClient(engine), "s-2")
        await sales.client.start_session("s-2")
        assert await sales.ask("hi") == "you said hi"
        await until(lambda: list(database.workflows().values()).count("SUCCESS") == 2)
        assert database.workflows()["dexbridge:s-1:leg-1:queued"] == "ENQUEUED"
    async with opening() as talk:
        assert await talk.answer() == "you said hello"
