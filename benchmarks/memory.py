"""What a Worker holds after many turns: memory, open files, and how many CLI processes there were at most.

Run alone with `python -m benchmarks.memory` (about five minutes). The Worker is a process of its own, so that only its
memory is counted; half of its calls wait for an approval, and more sessions are at work than processes are allowed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.claude_stage import POST, SLACK_ARGUMENTS, agent_options, open_connection, open_stage, slack_source
from benchmarks.report import Comparison, Goal, compare, main
from dexbridge.claude import CliProcesses, claude_agent_session_flow
from dexbridge.claude.testing import ModelRequest, Reply, Text, ToolUse, snapshots_of
from dexbridge.connectors import slack
from dexbridge.sessions import AgentSessionClient, AgentSessionFlow, EventKind, open_engine
from dexbridge.toolsource import mcp_name

__all__ = ["measure"]

_TURNS = 500
_WARM_TURNS = 100
_TURNS_PER_SESSION = 5
_AT_ONCE = 4
_MOST = 3
_LOOK_SECONDS = 0.25
_GROWTH = 1.1
_ASKS = "Asks."


def _flow(model_url: str, connection: slack.Connection) -> AgentSessionFlow:
    return claude_agent_session_flow(
        lambda _context: agent_options(model_url),
        [],
        flow_type="Benchmark",
        tool_sources=[slack_source(connection, asks=lambda arguments: arguments["text"] == _ASKS)],
        processes=CliProcesses(most=_MOST),
    )


async def _serve(database: str, model_url: str, endpoint: str) -> None:
    async with open_connection(endpoint) as connection, open_engine(database, [_flow(model_url, connection)]):
        print("serving", flush=True)
        await asyncio.Event().wait()


@asynccontextmanager
async def _worker(database: str, model_url: str, endpoint: str) -> AsyncGenerator[psutil.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.memory", database, model_url, endpoint),
        cwd=Path(__file__).parents[1],
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        if await process.stdout.readline() != b"serving\n":
            raise RuntimeError("The Worker did not start; it has said why.")
        yield psutil.Process(process.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


@dataclass
class _Held:
    """What the Worker holds, looked at all the time."""

    worker: psutil.Process
    processes: list[float] = field(default_factory=list[float])

    async def look(self) -> None:
        while True:
            alive = 0
            # Not their children too: one that a CLI has forked looks like it until its own program begins.
            for child in self.worker.children():
                with contextlib.suppress(psutil.Error):
                    alive += "--output-format" in child.cmdline() and child.status() != psutil.STATUS_ZOMBIE
            self.processes.append(alive)
            await asyncio.sleep(_LOOK_SECONDS)

    async def at_rest(self) -> tuple[list[float], list[float]]:
        """Megabytes and open files once the last processes have ended, a few samples of each."""
        await asyncio.sleep(2)
        megabytes: list[float] = []
        files: list[float] = []
        for _ in range(10):
            megabytes.append(self.worker.memory_info().rss / 1e6)
            files.append(float(self.worker.num_fds()))
            await asyncio.sleep(0.1)
        return megabytes, files


async def _turn(sessions: AgentSessionClient, session_id: str) -> None:
    after = (await sessions.get_snapshot(session_id)).last_event
    await sessions.send_user_message(session_id, "go")
    async for event in sessions.read_events(session_id, after=after, follow=True):
        match event.kind:
            case EventKind.INTERRUPT_OPENED:
                await sessions.resolve_interrupt(session_id, event.data["interrupt_id"], approved=True)
            case EventKind.TURN_ANSWERED:
                return
            case EventKind.TURN_FAILED:
                raise RuntimeError(event.data["error"])
            case _:
                pass


async def _turns(sessions: AgentSessionClient, name: str, count: int) -> None:
    async def talk(number: int) -> None:
        for session in range(count // _AT_ONCE // _TURNS_PER_SESSION):
            session_id = f"{name}-{number}-{session}"
            await sessions.start_session(session_id)
            for _ in range(_TURNS_PER_SESSION):
                await _turn(sessions, session_id)

    await asyncio.gather(*(talk(number) for number in range(_AT_ONCE)))


async def measure(turns: int = _TURNS) -> Sequence[Comparison]:
    """After all turns beside after the first hundred, when every cache is warm; and the processes."""
    texts = itertools.cycle([_ASKS, "Posts at once."])

    def respond(request: ModelRequest) -> Reply:
        if request.tool_results:
            return Reply(Text("Done."))
        return Reply(ToolUse(mcp_name(POST), {**SLACK_ARGUMENTS, "text": next(texts)}))

    async with open_stage(respond) as stage:
        with tempfile.TemporaryDirectory() as folder:
            database = f"sqlite:///{Path(folder) / 'sessions.db'}"
            async with (
                _worker(database, stage.model.url, stage.slack.endpoint) as worker,
                open_engine(database, [_flow(stage.model.url, stage.connection)], run_steps=False) as engine,
            ):
                sessions, held = AgentSessionClient(engine), _Held(worker)
                looking = asyncio.create_task(held.look())
                await _turns(sessions, "early", _WARM_TURNS)
                early, early_files = await held.at_rest()
                await _turns(sessions, "late", turns - _WARM_TURNS)
                late, late_files = await held.at_rest()
                looking.cancel()
                stage.recorded.extend(await snapshots_of(sessions))
    assert max(held.processes) > 0, "the CLIs were not seen"
    after, goal = f"after {_WARM_TURNS}", Goal(ratio=_GROWTH)
    return [
        compare(f"a Worker's memory after {turns} turns", late, after, early, goal, unit="MB"),
        compare(f"a Worker's open files after {turns} turns", late_files, after, early_files, goal, unit="files"),
        compare(
            "CLI processes at once", [max(held.processes)], "the bound", [_MOST], Goal(ratio=1.0), unit="processes"
        ),
    ]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(_serve(*sys.argv[1:4]))
    else:
        main(measure)
