"""A Worker process for crash tests: `python session_worker.py <url> <folder> <mode> <ready>`.

It serves the flow `support` until it is killed or told to end (SIGTERM), and writes `<folder>/<ready>` once it does.
When it is `armed`, a call whose `order_id` names a point stands still there, after writing `<folder>/reached <point>`;
when it is `brief`, only until there is `<folder>/go on`. `committed <step>` kills the process as soon as session s-1
has committed that Step. Before these may stand how the tools are deployed: `free` (none asks), `asking` (one asks, the
rule of the other fails), `repeatable` (the write may be repeated) or `bare` (there are none). Every effect is a line of
`<folder>/effects`, and every question after a lost answer one of `<folder>/asked`: for how many seconds more, by the
clock of the process that asks, the request may be under way.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from dexbridge.sessions import AgentSessionClient, AgentSessionFlow, EventKind, SessionLimits, open_engine
from dexbridge.toolsource import AttemptResult, Dispatch, OfferedTools, Reconciled, StillUnknown, ToolEffect

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fakes.function_tool import FunctionTool, succeeded
from tests.fakes.scripted_runner import ScriptedRunner, Segment


def note(folder: Path, line: str, file: str = "effects") -> None:
    descriptor = os.open(folder / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


class StandingStill(FunctionTool):
    """Stands still before the row of the ledger, where a call is looked at once more."""

    def __init__(self, folder: Path, **how: Any) -> None:
        super().__init__(**how)
        self._folder = folder
        self._looked = 0

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        validated = super().validate(arguments)
        if validated["order_id"] == "before-row":
            self._looked += 1
            if self._looked == 2:
                (self._folder / "reached before-row").touch()
                time.sleep(3600)
        return validated


def fails(_arguments: Mapping[str, Any]) -> bool:
    raise LookupError


def deployed(folder: Path, how: str, function: Any, *, armed: bool) -> list[FunctionTool]:
    if how == "bare":
        return []
    make = partial(StandingStill, folder) if armed else FunctionTool

    async def look_up(
        _dispatch: Dispatch, _arguments: Mapping[str, Any], _from: datetime, ended_by: datetime
    ) -> Reconciled:
        note(folder, str((ended_by - datetime.now(UTC)).total_seconds()), "asked")
        return StillUnknown("Nobody can tell.")

    effect = ToolEffect.IDEMPOTENT_WRITE if how == "repeatable" else ToolEffect.NON_IDEMPOTENT_WRITE
    return [
        make(rule=how != "free", effect=effect, function=function, look_up=look_up),
        make(name="read_order", effect=ToolEffect.READ, rule=fails if how == "asking" else False, function=function),
    ]


async def serve(url: str, folder: Path, mode: str, ready: str) -> None:
    how, _, rest = mode.partition(" ")
    if how in ("free", "asking", "repeatable", "bare"):
        mode = rest

    async def stand_still_at(point: str, order: str) -> None:
        if mode == "armed" and point == order:
            (folder / f"reached {point}").touch()
            await asyncio.sleep(3600)
        if mode == "brief" and point == order:
            (folder / f"reached {point}").touch()
            while not (folder / "go on").exists():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            (folder / f"left {point}").touch()

    async def function(dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
        order = str(arguments["order_id"])
        await stand_still_at("before-effect", order)
        note(folder, f"effect {order}")
        await stand_still_at("after-effect", order)
        return succeeded(f"done with {order}")

    async def after(segment: Segment) -> None:
        if segment.result is None:
            order = segment.prompts[0].rpartition('": "')[2].partition('"')[0]
            note(folder, f"first segment {order}")
            await stand_still_at("after-first-segment", order)
        else:
            order = segment.result.text.rpartition(" ")[2]
            note(folder, f"last segment {order}")
            await stand_still_at("after-last-segment", order)

    tools = deployed(folder, how, function, armed=mode == "armed")
    limits = SessionLimits(
        segment_runs=3, dispatch_window=timedelta(seconds=1), reconcile_margin=timedelta(milliseconds=50)
    )
    flow = AgentSessionFlow("support", ScriptedRunner(after=after), OfferedTools(tools), limits)
    async with open_engine(url, [flow]) as engine:
        client = AgentSessionClient(engine)
        (folder / ready).touch()
        if mode.startswith("committed "):
            async for event in client.read_events("s-1", follow=True):
                if event.kind is EventKind.STEP_COMPLETED and event.data["step_execution_id"] == mode.split(" ")[1]:
                    os.kill(os.getpid(), signal.SIGKILL)
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
