"""A session on a real database, with a scripted framework.

Tests run on SQLite. Those of a module that sets `BOTH_DATABASES` run on PostgreSQL too, or those it names in
`DATABASES`.
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import Connection, NullPool, create_engine, make_url, text

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
TURN_OVER = (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED, EventKind.TURN_CANCELLED)


@dataclass
class Talk:
    """One session, spoken to as a person would."""

    client: AgentSessionClient
    session_id: str = "s-1"

    async def say(self, words: str, message_id: str | None = None) -> bool:
        return await self.client.send_user_message(self.session_id, words, message_id=message_id)

    async def steer(self, words: str) -> bool:
        return await self.client.steer(self.session_id, words)

    async def cancel(self) -> bool:
        return await self.client.cancel_turn(self.session_id)

    async def ask(self, words: str) -> str:
        """Says something, waits for the turn's end and returns the answer or the error."""
        after = (await self.snapshot()).last_event
        assert await self.say(words)
        return await self.answer(after)

    async def answer(self, after: int = 0) -> str:
        event = await self.event(*TURN_OVER, after=after)
        return str(event.data.get("text") or event.data.get("error") or event.kind.value)

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


@dataclass(frozen=True)
class Database:
    """A database of a test, and a private folder beside it.

    Attributes:
        url: As `open_engine` takes it.
        folder: For what else a test writes.
    """

    url: str
    folder: Path

    @property
    def is_postgres(self) -> bool:
        return self.url.startswith("postgresql")

    def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """What is in the database, as a person with a SQL shell sees it."""
        with self._connected() as connection:
            return [tuple(row) for row in connection.execute(text(query), values)]

    def write(self, statement: str, **values: Any) -> None:
        with self._connected() as connection:
            connection.execute(text(statement), values)

    def change_state(self, session_id: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Edits a session's state, as another process's commit does."""
        with self._connected() as connection:
            lock = " for update" if self.is_postgres else ""
            where = f"from dexbridge_sessions where session_id = :id{lock}"
            state = json.loads(connection.execute(text(f"select state {where}"), {"id": session_id}).scalar_one())
            change(state)
            connection.execute(
                text("update dexbridge_sessions set state = :state, version = version + 1 where session_id = :id"),
                {"state": json.dumps(state), "id": session_id},
            )

    def change_attempt(self, session_id: str, step: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Edits the first row of a Step in the attempt ledger."""
        key = {"id": session_id, "step": step}
        where = "where session_id = :id and step_execution_id = :step and number = 1"
        ((text_,),) = self.rows(f"select attempt from dexbridge_attempts {where}", **key)
        attempt = json.loads(text_)
        change(attempt)
        self.write(f"update dexbridge_attempts set attempt = :attempt {where}", attempt=json.dumps(attempt), **key)

    def workflows(self) -> dict[str, str]:
        """DBOS's own record of its workflows: their status by ID."""
        table = "dbos.workflow_status" if self.is_postgres else "workflow_status"
        return {str(row[0]): str(row[1]) for row in self.rows(f"select workflow_uuid, status from {table}")}

    @contextmanager
    def _connected(self) -> Generator[Connection]:
        url = self.url.replace("postgresql://", "postgresql+psycopg://")
        engine = create_engine(url, poolclass=NullPool, connect_args={} if self.is_postgres else {"timeout": 30})
        with engine.begin() as connection:
            yield connection


@contextmanager
def postgres_database(server: str, template: str | None = None) -> Generator[str]:
    """A new database on that server; dropped at the end."""
    name = f"dexbridge_test_{uuid.uuid4().hex}"
    admin_url = make_url(server).set(drivername="postgresql+psycopg", database="postgres")
    admin = create_engine(admin_url, isolation_level="AUTOCOMMIT", poolclass=NullPool)

    def execute(statement: str) -> None:
        with admin.connect() as connection:
            connection.execute(text(statement))

    execute(f"create database {name}" + (f" template {template}" if template else ""))
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        execute(f"drop database {name} with (force)")


Opening = Callable[..., AbstractAsyncContextManager[Talk]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = cast("Any", metafunc).module
    names = ("sqlite", "postgres") if getattr(module, "BOTH_DATABASES", False) else getattr(module, "DATABASES", ())
    if names and "database" in metafunc.fixturenames:
        metafunc.parametrize("database", names, indirect=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "private" / "sessions.db"


@pytest.fixture(scope="session")
def prepared_postgres() -> Iterator[str]:
    """A PostgreSQL database with all tables, to be copied."""
    server = os.environ.get("DEXBRIDGE_TEST_POSTGRES", "")
    if not server:
        pytest.skip("DEXBRIDGE_TEST_POSTGRES is empty: run `make services` first")
    with postgres_database(server) as url:

        async def prepare() -> None:
            async with open_engine(url, run_steps=False):
                pass

        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, prepare()).result()
        yield url


@pytest.fixture
def database(request: pytest.FixtureRequest, file: Path) -> Iterator[Database]:
    """The test's own database."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield Database(f"sqlite:///{file}", file.parent)
        return
    template: str = request.getfixturevalue("prepared_postgres")
    file.parent.mkdir(mode=0o700)
    with postgres_database(template, template=make_url(template).database) as url:
        yield Database(url, file.parent)


@pytest.fixture
def empty_postgres(prepared_postgres: str, file: Path) -> Iterator[Database]:
    """A PostgreSQL database without any table."""
    file.parent.mkdir(mode=0o700)
    with postgres_database(prepared_postgres) as url:
        yield Database(url, file.parent)


@pytest.fixture
def opening(database: Database) -> Opening:
    """Opens an engine on the test's database; the session `s-1` is started when it is new."""

    @asynccontextmanager
    async def opened(
        *tools: FunctionTool,
        runner: ScriptedRunner | None = None,
        limits: SessionLimits = LIMITS,
        through: Database = database,
    ) -> AsyncGenerator[Talk]:
        flow = flow_of(tools, runner, limits)
        async with open_engine(through.url, [flow]) as engine:
            client = AgentSessionClient(engine)
            await client.start_session("s-1")
            yield Talk(client)

    return opened


def flow_of(
    tools: Sequence[FunctionTool], runner: ScriptedRunner | None = None, limits: SessionLimits = LIMITS
) -> AgentSessionFlow:
    return AgentSessionFlow("support", runner or ScriptedRunner(), OfferedTools(list(tools)), limits)


async def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Waits for something outside this process, which nothing here is told of."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
