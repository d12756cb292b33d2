"""Writes a history: `python -m tests.sessions.make_history tests/sessions/histories/<version>.json`.

A history is every row of our tables, as one version of dexbridge wrote them, of sessions in many states. Made once per
version and never changed: `test_histories.py` goes on with each by the present code.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from dexbridge.sessions import AgentSessionClient, EventKind, SegmentFailed, open_engine
from dexbridge.toolsource import AttemptResult, Completed, Dispatch, OutcomeKind, ToolOutcome, Unsettled
from tests.fakes.function_tool import FunctionTool
from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import Talk, flow_of

CALL = 'call cancel_order {"order_id": "%s"}'


async def _make(url: str) -> None:
    called = asyncio.Event()

    async def function(_dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
        if arguments["order_id"] == "unknown":
            return Unsettled("cut")
        if arguments["order_id"] == "under way":
            called.set()
            await asyncio.sleep(3600)
        receipt = {"provider_object_id": "9"}
        return Completed(ToolOutcome(OutcomeKind.SUCCEEDED, f"done with {arguments['order_id']}", receipt))

    async def before(segment: Segment) -> None:
        if segment.prompts == ("mid-segment",):
            await asyncio.sleep(3600)
        if segment.prompts == ("fail",):
            raise SegmentFailed("The key is wrong.", permanent=True)

    def asks(arguments: Mapping[str, Any]) -> bool:
        return arguments["order_id"] not in ("unknown", "under way")

    tool = FunctionTool(rule=asks, function=function)
    async with open_engine(url, [flow_of([tool], ScriptedRunner(before=before))]) as engine:
        client = AgentSessionClient(engine)

        async def session(name: str, message: str, until: EventKind | None) -> Talk:
            talk = Talk(client, name)
            await client.start_session(name)
            await talk.say(message, message_id=f"{name}-1")
            if until is not None:
                await talk.event(until)
            return talk

        await client.start_session("new")
        await session("answered", "hello", EventKind.TURN_ANSWERED)
        await session("failed", "fail", EventKind.TURN_FAILED)
        await session("unknown", CALL % "unknown", EventKind.TURN_ANSWERED)
        done = await session("done", CALL % "7", EventKind.INTERRUPT_OPENED)
        await done.decide(await done.interrupt(), approved=True)
        await done.answer()
        waiting = await session("waiting", CALL % "7", EventKind.INTERRUPT_OPENED)
        await waiting.say("afterwards")
        cancelled = await session("cancelled", CALL % "7", EventKind.INTERRUPT_OPENED)
        await cancelled.cancel()
        ended = await session("ended", "hello", EventKind.TURN_ANSWERED)
        await client.end_session(ended.session_id)
        segment = await session("mid-segment", "mid-segment", None)
        await segment.steer("this too")
        await session("mid-call", CALL % "under way", None)
        await called.wait()
        # The rows are read while two sessions are under way, as after a SIGKILL.
        _write(url.removeprefix("sqlite:///"))
        os._exit(0)


def _write(file: str) -> None:
    Path(sys.argv[1]).write_text(json.dumps(_rows(file), indent=1, sort_keys=True) + "\n")


def _rows(file: str) -> dict[str, list[dict[str, Any]]]:
    with closing(sqlite3.connect(file)) as database:
        database.row_factory = sqlite3.Row
        tables = database.execute(
            "select name from sqlite_master where type = 'table' and name like 'dexbridge%' order by 1"
        ).fetchall()
        names = [str(row[0]) for row in tables if row[0] != "dexbridge_workers"]
        return {name: [dict(row) for row in database.execute(f"select * from {name}")] for name in names}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(asyncio.wait_for(_make(f"sqlite:///{folder}/sessions.db"), 120))
