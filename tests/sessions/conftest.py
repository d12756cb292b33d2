"""A session on a real SQLite file, with a scripted framework."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from dexbridge.sessions import (
    AgentSessionClient,
    AgentSessionFlow,
    EventKind,
    Interrupt,
    SessionEvent,
    SessionLimits,
    SessionSnapshot,
    open_engine,
)
from dexbridge.toolsource import OfferedTools
from tests.fakes.function_tool import FunctionTool
from tests.fakes.scripted_runner import ScriptedRunner

LIMITS = SessionLimits(
    run_model=timedelta(seconds=20),
    message_characters=200,
    queued_messages=3,
    dispatch_window=timedelta(seconds=2),
    reconcile_margin=timedelta(milliseconds=50),
)
TURN_OVER = (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED)


@dataclass
class Talk:
    """One session, spoken to as a person would."""

    client: AgentSessionClient
    session_id: str = "s-1"

    async def say(self, text: str) -> bool:
        return await self.client.send_user_message(self.session_id, text)

    async def ask(self, text: str) -> str:
        """Says something, waits for the turn's end and returns the answer or the error."""
        after = (await self.snapshot()).last_event
        assert await self.say(text)
        return await self.answer(after)

    async def answer(self, after: int = 0) -> str:
        event = await self.event(*TURN_OVER, after=after)
        return str(event.data["text"] if event.kind is EventKind.TURN_ANSWERED else event.data["error"])

    async def event(self, *kinds: EventKind, after: int = 0) -> SessionEvent:
        """The first event of those kinds, now or when it comes."""
        async with asyncio.timeout(20):
            async for event in self.client.read_events(self.session_id, after=after, follow=True):
                if event.kind in kinds:
                    return event
        raise AssertionError(f"the log ended without {kinds}")

    async def interrupt(self, after: int = 0) -> Interrupt:
        await self.event(EventKind.INTERRUPT_OPENED, after=after)
        interrupt = (await self.snapshot()).state.interrupt
        assert interrupt is not None
        return interrupt

    async def decide(self, interrupt: Interrupt, *, approved: bool, message: str | None = None) -> bool:
        return await self.client.resolve_interrupt(
            self.session_id, interrupt.interrupt_id, approved=approved, rejection_message=message, decided_by="ann"
        )

    async def snapshot(self) -> SessionSnapshot:
        return await self.client.get_snapshot(self.session_id)

    async def events(self, after: int = 0) -> list[SessionEvent]:
        return [event async for event in self.client.read_events(self.session_id, after=after)]

    async def steps(self) -> list[str]:
        return [
            str(event.data["step_execution_id"])
            for event in await self.events()
            if event.kind is EventKind.STEP_COMPLETED
        ]


Opening = Callable[..., AbstractAsyncContextManager[Talk]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "private" / "sessions.db"


@pytest.fixture
def opening(file: Path) -> Opening:
    """Opens an engine on the test's file; the session `s-1` is started when it is new."""

    @asynccontextmanager
    async def opened(
        *tools: FunctionTool, runner: ScriptedRunner | None = None, limits: SessionLimits = LIMITS
    ) -> AsyncGenerator[Talk]:
        flow = flow_of(tools, runner, limits)
        async with open_engine(f"sqlite:///{file}", [flow]) as engine:
            client = AgentSessionClient(engine)
            await client.start_session("s-1")
            yield Talk(client)

    return opened


def flow_of(
    tools: Sequence[FunctionTool], runner: ScriptedRunner | None = None, limits: SessionLimits = LIMITS
) -> AgentSessionFlow:
    return AgentSessionFlow("support", runner or ScriptedRunner(), OfferedTools(list(tools)), limits)


async def until(condition: Callable[[], bool]) -> None:
    """Waits for something outside this process, which nothing here is told of."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def workflows(file: Path) -> dict[str, str]:
    """DBOS's own record of its workflows: their status by ID."""
    with closing(sqlite3.connect(file)) as database:
        return dict(database.execute("select workflow_uuid, status from workflow_status").fetchall())
