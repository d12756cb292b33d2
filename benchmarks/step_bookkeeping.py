"""What our record of a Step costs beside a bare DBOS step, on the same SQLite file.

Run alone with `python -m benchmarks.step_bookkeeping`.
"""

from __future__ import annotations

import itertools
import tempfile
import time
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from dbos import DBOS

from benchmarks.report import Comparison, Goal, compare, main
from dexbridge.claude.function_tool import function_tools
from dexbridge.sessions import (
    AgentSessionClient,
    AgentSessionFlow,
    Answered,
    CallLeaves,
    CallResult,
    Conversation,
    EventKind,
    SegmentEnd,
    ToolWish,
    TranscriptEntry,
    open_engine,
)
from dexbridge.toolsource import OfferedTools, ToolEffect, ToolPolicy

__all__ = ["measure"]

_ROUNDS = 40
_STEPS = 20
_ENTRY = (TranscriptEntry("{}"),)


class _NoModel:
    """A framework that answers at once, so that only the record of the Steps takes time."""

    async def run_until_call(self, conversation: Conversation, prompts: Sequence[str]) -> SegmentEnd:
        del prompts
        return CallLeaves(ToolWish(tool_use_id=conversation.session_id, tool="note", arguments={}), "", _ENTRY)

    async def give_result(
        self, conversation: Conversation, result: CallResult, prompts: Sequence[str] = ()
    ) -> SegmentEnd:
        del conversation, prompts
        return Answered(result.text, _ENTRY)

    async def close(self) -> None:
        pass


async def _nothing(number: int) -> int:
    return number


@DBOS.workflow(name="benchmark_bare_steps")
async def _bare_steps(count: int) -> list[float]:
    took: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        await DBOS.run_step_async({"name": "nothing"}, _nothing, number)
        took.append(time.perf_counter() - began)
    return took


async def _turn(sessions: AgentSessionClient) -> list[float]:
    """Time from each Step's event to the next, less what the tool and the model took (nothing)."""
    session_id = f"bench-{uuid.uuid4()}"
    await sessions.start_session(session_id)
    await sessions.send_user_message(session_id, "go")
    ended: list[datetime] = []
    async for event in sessions.read_events(session_id, follow=True):
        if event.kind is EventKind.STEP_COMPLETED:
            ended.append(event.at)
        if event.kind in (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED):
            break
    return [(later - earlier) / timedelta(seconds=1) for earlier, later in itertools.pairwise(ended)]


async def measure(rounds: int = _ROUNDS) -> Sequence[Comparison]:
    """Takes bare steps and turns in turns."""
    from claude_agent_sdk import tool

    @tool("note", "Write a note.", {})
    async def note(arguments: dict[str, object]) -> dict[str, object]:
        del arguments
        return {"content": [{"type": "text", "text": "noted"}]}

    policy = {"note": ToolPolicy(ToolEffect.IDEMPOTENT_WRITE, requires_approval=False)}
    flow = AgentSessionFlow("Bookkeeping", _NoModel(), OfferedTools(function_tools([note], policy), (), policy))
    bare: list[float] = []
    ours: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        async with open_engine(f"sqlite:///{Path(folder) / 'sessions.db'}", [flow]) as engine:
            sessions = AgentSessionClient(engine)
            for number in range(rounds + 1):
                handle = await DBOS.start_workflow_async(_bare_steps, _STEPS)
                steps, turn = await handle.get_result(), await _turn(sessions)
                if number:
                    bare.extend(steps)
                    ours.extend(turn)
    return [compare("one Step of a session, its own work apart", ours, "one bare DBOS step", bare, Goal(2.5))]


if __name__ == "__main__":
    main(measure)
