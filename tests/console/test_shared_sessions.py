"""Several clients talk to one session: each is shown what became of its own message."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from dexbridge.console.chat import Chat
from dexbridge.console.terminal import Terminal
from dexbridge.sessions import AgentSessionClient, AgentSessionFlow, EventKind, SegmentFailed, open_engine
from dexbridge.toolsource import OfferedTools
from tests.console.commands import Commands
from tests.console.conftest import Server, start
from tests.console.processes import SCRIPTED
from tests.console.scripted_app import LIMITS
from tests.fakes.function_tool import FunctionTool
from tests.fakes.scripted_runner import ScriptedRunner, Segment

CANCEL = 'call cancel_order {"order_id": "7"}'


async def eventually(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@dataclass
class Typist:
    """Somebody who types in a chat, and what the chat shows."""

    sessions: AgentSessionClient
    output: io.StringIO = field(default_factory=io.StringIO)
    code: int | None = None
    _keyboard: int = -1

    @property
    def shown(self) -> str:
        return self.output.getvalue()

    @property
    def answers(self) -> list[str]:
        return [line.removeprefix("agent: ") for line in self.shown.splitlines() if line.startswith("agent: ")]

    def type(self, line: str) -> None:
        os.write(self._keyboard, f"{line}\n".encode())

    async def hears(self, count: int) -> None:
        await eventually(lambda: len(self.answers) == count)

    @asynccontextmanager
    async def at_session(self) -> AsyncGenerator[Typist]:
        reads, self._keyboard = os.pipe()
        with os.fdopen(reads) as source:
            running = asyncio.create_task(Chat(self.sessions, Terminal(self.output, source)).run("s-1"))
            try:
                # It comes to the session before the others talk.
                await eventually(lambda: "user: the beginning" in self.shown or running.done())
                yield self
            finally:
                os.close(self._keyboard)
                self.code = await asyncio.wait_for(running, 20)


@dataclass
class Stage:
    """One session, a message of which is answered only when it may be, and one of which fails."""

    sessions: AgentSessionClient
    begun: asyncio.Event
    may_end: asyncio.Event

    async def count(self, kind: EventKind) -> int:
        return sum([event.kind is kind async for event in self.sessions.read_events("s-1")])

    async def accepted(self, count: int) -> None:
        async with asyncio.timeout(20):
            while await self.count(EventKind.MESSAGE_ACCEPTED) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[Stage]:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def before(segment: Segment) -> None:
        if segment.prompts == ("slow",):
            begun.set()
            await may_end.wait()
        if segment.prompts == ("fail",):
            raise SegmentFailed("The key is wrong.", permanent=True)

    tools = OfferedTools([FunctionTool("cancel_order", rule=True)])
    flow = AgentSessionFlow("Scripted", ScriptedRunner(before=before), tools, LIMITS)
    async with open_engine(f"sqlite:///{tmp_path / 'sessions.db'}", [flow]) as engine:
        client = AgentSessionClient(engine)
        await client.start_session("s-1")
        await client.send_user_message("s-1", "the beginning")
        async for event in client.read_events("s-1", follow=True):
            if event.kind is EventKind.TURN_ANSWERED:
                break
        yield Stage(client, begun, may_end)


async def test_each_chat_shows_the_answer_to_its_own_message(stage: Stage) -> None:
    async with Typist(stage.sessions).at_session() as ada, Typist(stage.sessions).at_session() as grace:
        ada.type("one")
        await ada.hears(1)
        grace.type("two")
        await grace.hears(1)
        ada.type("three")
        await ada.hears(2)
    assert ada.answers == ["you said one", "you said three"]
    assert grace.answers == ["you said two"]


async def test_a_message_that_waits_for_anothers_turn_is_shown_its_own(stage: Stage) -> None:
    async with Typist(stage.sessions).at_session() as ada, Typist(stage.sessions).at_session() as grace:
        ada.type("slow")
        await stage.begun.wait()
        grace.type("two")
        await stage.accepted(3)
        stage.may_end.set()
        await grace.hears(1)
        await ada.hears(1)
    assert (ada.answers, grace.answers) == (["you said slow"], ["you said two"])


async def test_another_clients_failure_is_not_this_ones(stage: Stage) -> None:
    async with Typist(stage.sessions).at_session() as ada, Typist(stage.sessions).at_session() as grace:
        ada.type("fail")
        await eventually(lambda: "The turn failed. The key is wrong." in ada.shown)
        grace.type("two")
        await grace.hears(1)
    assert (ada.code, grace.code) == (1, 0)
    assert "failed" not in grace.shown
    assert grace.answers[0].endswith("you said two")


async def test_messages_of_the_routes_and_steering_do_not_shift_a_chats_answers(stage: Stage) -> None:
    sessions = stage.sessions
    async with Typist(sessions).at_session() as ada:
        await sessions.send_user_message("s-1", "from elsewhere", message_id="m-1")
        ada.type("slow")
        await stage.begun.wait()
        assert await sessions.steer("s-1", "steered", message_id="m-2")
        stage.may_end.set()
        await ada.hears(1)
        await sessions.send_user_message("s-1", "once more", message_id="m-3")
        ada.type("last")
        await ada.hears(2)
    assert "from elsewhere" not in ada.shown
    assert ada.answers[1] == "you said last"
    # What another client needs to find its own answer is in the events.
    events = [event async for event in sessions.read_events("s-1")]
    turns = {
        event.data["message_id"]: event.data["turn"]
        for event in events
        if "message_id" in event.data and "turn" in event.data
    }
    answers = {event.data["turn"]: event.data["text"] for event in events if event.kind is EventKind.TURN_ANSWERED}
    assert answers[turns["m-1"]] == "you said from elsewhere"
    assert answers[turns["m-2"]] == "you said steered"
    assert answers[turns["m-3"]] == "you said once more"


async def test_a_call_of_anothers_turn_is_no_riddle_to_a_script_that_waits(stage: Stage) -> None:
    async with Typist(stage.sessions).at_session() as ada:
        await stage.sessions.send_user_message("s-1", CANCEL)
        async for event in stage.sessions.read_events("s-1", follow=True):
            if event.kind is EventKind.INTERRUPT_OPENED:
                break
        ada.type("hello")
        await eventually(lambda: "Nobody can be asked here" in ada.shown)
    assert ada.code == 3
    assert "Another message is answered first" in ada.shown


async def test_a_question_that_was_decided_elsewhere_is_taken_back(http: aiohttp.ClientSession, server: Server) -> None:
    talk = await start(http, CANCEL)
    await talk.events("interrupt_opened")
    interrupt = (await talk.snapshot())["pending_interrupts"][0]
    commands = Commands(f"sqlite:///{server.folder / 'sessions.db'}")

    async def decide() -> None:
        await talk.post("/interrupts/resolve", interrupt_id=interrupt["interrupt_id"], approved=True)

    ran = await commands.in_terminal(
        *("chat", "--app", SCRIPTED, "--session", talk.session_id),
        answers=[
            ("Approve this call? [y/n] ", "n"),  # begun, and not sent off
            ("", decide),
            ("it was decided elsewhere", ""),
            ("agent: done with 7", ""),
            ("> ", "hello\n"),
            ("agent: you said hello", ""),
            ("> ", "\x04"),
        ],
    )
    assert ran.code == 0, ran.output
    (call,) = (await talk.snapshot())["calls"]
    assert (call["decision"], call["decided_by"]) == ("approved", "holder of the session token")
