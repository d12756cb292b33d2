"""From a message given to the start of its CLI process, beside a bare DBOS workflow start on the same database.

Run alone with `python -m benchmarks.cli_spawn`. Postgres is measured when DEXBRIDGE_TEST_POSTGRES names one.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import claude_agent_sdk
from claude_agent_sdk import ClaudeAgentOptions

from benchmarks.approval import start_bare_workflow
from benchmarks.claude_stage import calls_once, open_stage
from benchmarks.report import Comparison, Goal, compare, main
from dexbridge.claude import ClaudeAgentOptionsContext, claude_agent_session_flow
from dexbridge.sessions import AgentSessionClient, EventKind, open_engine
from dexbridge.toolsource import ToolEffect, ToolPolicy

__all__ = ["measure"]

_ROUNDS = 12
_POLICY = {"note": ToolPolicy(ToolEffect.READ)}


async def _on(database: str, url: str | None, rounds: int) -> Comparison:
    spawned: list[float] = []
    bare: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started = folder / "started"
        # Writes when it began, then becomes the CLI; the shell's own start is counted against us.
        cli = folder / "cli"
        bundled = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
        record = f"date +%s%N > {shlex.quote(str(started))}"
        cli.write_text(f'#!/bin/sh\n{record}\nexec {shlex.quote(str(bundled))} "$@"\n')
        cli.chmod(0o700)
        async with open_stage(calls_once("note", {"text": "x"})) as stage:

            def build_options(context: ClaudeAgentOptionsContext) -> ClaudeAgentOptions:
                del context
                return stage.options(cli_path=cli)

            flow = claude_agent_session_flow(
                build_options, [stage.note()], flow_type="Benchmark", tool_policies=_POLICY
            )
            async with open_engine(url or f"sqlite:///{folder / 'sessions.db'}", [flow]) as engine:
                sessions = AgentSessionClient(engine)
                for number in range(rounds + 1):
                    session_id = f"bench-{uuid.uuid4()}"
                    await sessions.start_session(session_id)
                    given = time.time()
                    await sessions.send_user_message(session_id, "go")
                    async for event in sessions.read_events(session_id, follow=True):
                        if event.kind in (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED):
                            break
                    stage.recorded.append(await sessions.get_snapshot(session_id))
                    took = int(started.read_text()) / 1e9 - given
                    base = await asyncio.to_thread(lambda: asyncio.run(start_bare_workflow()))
                    if number:
                        spawned.append(took)
                        bare.append(base)
    return compare(f"message -> its CLI started, {database}", spawned, "a bare workflow start", bare, Goal(10))


async def measure(rounds: int = _ROUNDS) -> Sequence[Comparison]:
    """Measures on SQLite, and on Postgres when there is one."""
    measured = [await _on("SQLite", None, rounds)]
    if url := os.environ.get("DEXBRIDGE_TEST_POSTGRES"):
        measured.append(await _on("Postgres", url, rounds))
    return measured


if __name__ == "__main__":
    main(measure)
