"""What a long session costs: its turns, the start of a segment, and the loading of its transcript.

Run alone with `python -m benchmarks.session_costs`.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbos import DBOS

from benchmarks.databases import DATABASES, new_database
from benchmarks.report import Comparison, Goal, compare, main
from dexbridge.claude.conversation.resume_file import write_resume_file
from dexbridge.sessions import (
    AgentSessionClient,
    AgentSessionFlow,
    Answered,
    CallResult,
    Conversation,
    EventKind,
    SegmentEnd,
    TranscriptEntry,
    open_engine,
)
from dexbridge.toolsource import OfferedTools

__all__ = ["measure"]

_STARTS = 60
_LONG = 505
_AROUND = 20
_ENTRIES = 2_000
_ENTRY_BYTES = 4_000
_LOADS = 7

_began: dict[str, float] = {}


@dataclass
class _NoModel:
    """Answers at once, and notes when it was asked."""

    entry: str = "{}"
    asked: dict[str, float] = field(default_factory=dict[str, float])
    loaded: list[float] = field(default_factory=list[float])

    async def run_until_call(self, conversation: Conversation, prompts: Sequence[str]) -> SegmentEnd:
        self.asked[prompts[-1]] = time.perf_counter()
        if prompts[-1] == "fill":
            return Answered("ok", tuple(TranscriptEntry(self.entry) for _ in range(_ENTRIES)))
        if prompts[-1] == "load":
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                entries = await conversation.load_transcript()
                write_resume_file(Path(folder), folder, conversation.conversation_id, entries)
                self.loaded.append(time.perf_counter() - began)
        return Answered("ok", (TranscriptEntry("{}"),))

    async def give_result(
        self, conversation: Conversation, result: CallResult, prompts: Sequence[str] = ()
    ) -> SegmentEnd:
        raise AssertionError((conversation, result, prompts))

    async def close(self) -> None:
        pass


@DBOS.workflow(name="benchmark_bare_start")
async def _bare_start(key: str) -> None:
    _began[key] = time.perf_counter()


async def _turn(sessions: AgentSessionClient, session_id: str, text: str, after: int) -> tuple[float, int]:
    """How long a turn takes, and the sequence of its last event."""
    began = time.perf_counter()
    await sessions.send_user_message(session_id, text)
    async for event in sessions.read_events(session_id, after=after, follow=True):
        if event.kind is EventKind.TURN_ANSWERED:
            return time.perf_counter() - began, event.sequence
    raise AssertionError


async def _starts(sessions: AgentSessionClient, runner: _NoModel, name: str) -> Comparison:
    ours: list[float] = []
    bare: list[float] = []
    for number in range(_STARTS + 3):
        key, session_id = f"key-{number}", f"start-{uuid.uuid4()}"
        began = time.perf_counter()
        await (await DBOS.start_workflow_async(_bare_start, key)).get_result()
        await sessions.start_session(session_id)
        accepting = time.perf_counter()
        await _turn(sessions, session_id, key, 0)
        if number >= 3:
            bare.append(_began[key] - began)
            ours.append(runner.asked[key] - accepting)
    return compare(
        f"message -> its segment begins, {name}", ours, "a bare DBOS workflow: start -> its first line", bare, Goal(10)
    )


async def _long(sessions: AgentSessionClient, name: str) -> Comparison:
    await sessions.start_session("long")
    took: list[float] = []
    last = 0
    for _ in range(_LONG):
        seconds, last = await _turn(sessions, "long", "go", last)
        took.append(seconds)
    # Others, in turns with the late ones, so that the machine's mood is the same for both.
    late: list[float] = []
    early: list[float] = []
    for number in range(_AROUND):
        seconds, last = await _turn(sessions, "long", "go", last)
        late.append(seconds)
        session_id = f"short-{number}"
        await sessions.start_session(session_id)
        after = 0
        for _ in range(5):
            seconds, after = await _turn(sessions, session_id, "go", after)
        early.append(seconds)
    return compare(f"turn {_LONG} of a session, {name}", late, "turn 5 of a session", early, Goal(1.2))


async def _loading(sessions: AgentSessionClient, runner: _NoModel, name: str) -> Comparison:
    await sessions.start_session("large")
    _, last = await _turn(sessions, "large", "fill", 0)
    bare: list[float] = []
    for _ in range(_LOADS):
        _, last = await _turn(sessions, "large", "load", last)
        began = time.perf_counter()
        for _ in range(_ENTRIES):
            json.loads(runner.entry)
        bare.append(time.perf_counter() - began)
    return compare(
        f"a transcript of 8 MB, database -> the CLI's folder, {name}", runner.loaded, "json.loads of it", bare, Goal(3)
    )


async def measure() -> Sequence[Comparison]:
    """On both databases."""
    # Each in a loop of its own: calling DBOS here, as the bare side does, takes the loop's threads away at the close.
    return [found for kind in DATABASES for found in await asyncio.to_thread(asyncio.run, _measure(kind))]


async def _measure(kind: str) -> Sequence[Comparison]:
    block = {"type": "text", "text": "word " * 20, "n": 1}
    entry = {"type": "assistant", "message": {"content": [block] * (_ENTRY_BYTES // len(json.dumps(block)))}}
    runner = _NoModel(json.dumps(entry))
    with new_database(kind) as url:
        async with open_engine(url, [AgentSessionFlow("Costs", runner, OfferedTools([]))]) as engine:
            sessions = AgentSessionClient(engine)
            return [
                await _starts(sessions, runner, kind),
                await _long(sessions, kind),
                await _loading(sessions, runner, kind),
            ]


if __name__ == "__main__":
    main(measure)
