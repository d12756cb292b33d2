"""A conversation in the terminal: messages in, answers out, and a question for every call that waits."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator
from typing import Final

from dexbridge.connectors import is_blank
from dexbridge.console.person import local_user
from dexbridge.console.shown.timeline import timeline
from dexbridge.console.shown.wording import left_out_label
from dexbridge.console.terminal import Terminal
from dexbridge.sessions import (
    AgentSessionClient,
    DatabaseUnavailable,
    EventKind,
    Interrupt,
    InvalidRequest,
    SessionEvent,
    SessionStatus,
    StepType,
)

__all__ = ["Chat"]

_FAILED: Final = 1
_NOBODY_TO_ASK: Final = 3
_TICK_SECONDS: Final = 1.0
_QUIET_SECONDS: Final = 20.0
_TURN_ENDS: Final = (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED, EventKind.TURN_CANCELLED)


class Chat:
    """Talks to one session, which others may talk to at the same time.

    It shows the turn of its own message. Of the turns before it shows only the calls that wait for a decision, since
    its message waits behind them.

    Args:
        sessions: Of the flow to talk to.
        terminal: Where.
        flow_options: The options that named the flow, each with a space before it, for a command that is to be pasted.
        url_option: The same of the database.
        quiet_seconds: After so long without anything new it says, once a turn, what may be wrong.
    """

    def __init__(
        self,
        sessions: AgentSessionClient,
        terminal: Terminal,
        *,
        flow_options: str = "",
        url_option: str = "",
        quiet_seconds: float = _QUIET_SECONDS,
    ) -> None:
        self._sessions = sessions
        self._terminal = terminal
        self._flow_options = flow_options
        self._url_option = url_option
        self._quiet_seconds = quiet_seconds
        self._seen = 0
        self._shown = 0

    async def run(self, session_id: str | None) -> int:
        """Talks until the input ends; returns the exit code."""
        if session_id is None:
            session_id = f"chat-{uuid.uuid4()}"
            await self._sessions.start_session(session_id)
            self._terminal.say(
                f"Session {session_id}. Go on with it later: "
                f"dexbridge chat{self._flow_options}{self._url_option} --session {session_id}"
            )
        elif code := await self._resume(session_id):
            return code
        while (text := await self._next_message()) is not None:
            if is_blank(text):
                continue
            message_id = str(uuid.uuid4())
            try:
                taken = await self._sessions.send_user_message(session_id, text, message_id=message_id)
            except InvalidRequest as refused:
                self._terminal.say(str(refused))
                if not self._terminal.can_ask:
                    return _FAILED
                continue
            if not taken:
                self._terminal.say("The session did not take the message: it has ended, or too many wait.")
                return _FAILED
            if code := await self._follow(session_id, _Own(message_id=message_id)):
                return code
        return 0

    async def _next_message(self) -> str | None:
        if self._terminal.can_ask:
            return await self._terminal.ask("> ")
        return await self._terminal.read_line()

    async def _resume(self, session_id: str) -> int:
        snapshot = await self._sessions.get_snapshot(session_id)
        for message in snapshot.messages:
            self._terminal.say(f"{message.role.value}{left_out_label(message)}: {message.text}")
        self._seen, self._shown = snapshot.last_event, len(snapshot.messages)
        state = snapshot.state
        if state.status not in (SessionStatus.RUNNING, SessionStatus.WAITING):
            return 0
        if state.pending_interrupt is not None and (code := await self._decide(session_id, state.pending_interrupt)):
            return code
        return await self._follow(session_id, _Own(turn=state.turn))

    async def _follow(self, session_id: str, own: _Own) -> int:
        """Shows what happens until the turn of the own message is over."""
        since, doing, told = time.monotonic(), "the agent works", False
        events = self._sessions.read_events(session_id, after=self._seen, follow=True)
        upcoming: asyncio.Task[SessionEvent | None] | None = None
        try:
            while True:
                upcoming = upcoming or asyncio.ensure_future(_next(events))
                done, _ = await asyncio.wait({upcoming}, timeout=_TICK_SECONDS)
                if not done:
                    if not told and time.monotonic() - since >= self._quiet_seconds:
                        told = True
                        await self._say_what_may_be_wrong(session_id)
                    self._terminal.progress(doing, since)
                    continue
                event, upcoming = upcoming.result(), None
                if event is None:
                    return _FAILED
                self._seen = event.sequence
                own.notice(event)
                if event.kind is EventKind.INTERRUPT_OPENED:
                    if code := await self._interrupted(session_id, event, own):
                        return code
                    since = time.monotonic()
                elif event.kind is EventKind.SESSION_ENDED or (event.kind in _TURN_ENDS and own.is_of(event)):
                    return await self._end(session_id, event)
                elif own.is_running:
                    await self._show(session_id, event)
        finally:
            self._terminal.clear()
            if upcoming is not None:
                upcoming.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await upcoming

    async def _show(self, session_id: str, event: SessionEvent) -> None:
        if event.kind in (EventKind.STEP_COMPLETED, EventKind.INSIDE_CALL_BEGAN):
            snapshot = await self._sessions.get_snapshot(session_id)
            self._terminal.step(timeline(snapshot, [event], {})[0])
        elif event.kind is EventKind.OUTCOME_UNKNOWN:
            snapshot = await self._sessions.get_snapshot(session_id)
            for call in snapshot.unknown_calls:
                if call.step_execution_id == event.data["step_execution_id"]:
                    self._terminal.unknown(call)

    async def _say_what_may_be_wrong(self, session_id: str) -> None:
        due = (await self._sessions.get_snapshot(session_id)).state.due
        quiet = f"Nothing new for {self._quiet_seconds:.0f} s:"
        if due is not None and due.type is StepType.RUN_MODEL:
            self._terminal.say(
                f"{quiet} no answer from the model's API yet. A long answer takes its time; else see whether the API "
                "can be reached from where the Steps run (network, proxy, ANTHROPIC_BASE_URL), and whether a Worker "
                "runs at all. Ctrl-C leaves the session as it is."
            )
        elif due is not None:
            self._terminal.say(f"{quiet} {due.id} has not ended yet. Ctrl-C leaves the session as it is.")

    async def _interrupted(self, session_id: str, event: SessionEvent, own: _Own) -> int:
        snapshot = await self._sessions.get_snapshot(session_id)
        waiting = snapshot.state.pending_interrupt
        if waiting is None or waiting.interrupt_id != event.data["interrupt_id"]:
            return 0
        if not own.is_running:
            self._terminal.say("Another message is answered first, and the agent asks for a call:")
        self._terminal.said(snapshot, since=self._shown)
        self._shown = len(snapshot.messages)
        return await self._decide(session_id, waiting)

    async def _decide(self, session_id: str, waiting: Interrupt) -> int:
        """Asks a person about a call, for as long as nobody else has decided."""
        self._terminal.interrupt(waiting)
        if not self._terminal.can_ask:
            self._terminal.say(
                "Nobody can be asked here, so the call goes on waiting: "
                f"dexbridge sessions approve {session_id}{self._url_option}, or reject."
            )
            return _NOBODY_TO_ASK
        asking = asyncio.ensure_future(self._ask())
        elsewhere = asyncio.ensure_future(self._until_decided(session_id, waiting))
        try:
            await asyncio.wait({asking, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                elsewhere.result()
                self._terminal.forget_typed()
                self._terminal.say()
                self._terminal.say("The call does not wait any more: it was decided elsewhere, or taken back.")
                return 0
            approved, reason = asking.result()
        finally:
            for task in (asking, elsewhere):
                task.cancel()
            await asyncio.gather(asking, elsewhere, return_exceptions=True)
        if approved is None:
            # A terminal that is gone has decided nothing.
            self._terminal.say(
                "The input has ended without an answer, so the call goes on waiting: "
                f"dexbridge sessions approve {session_id}{self._url_option}, or reject."
            )
            return _NOBODY_TO_ASK
        try:
            accepted = await self._sessions.resolve_interrupt(
                session_id, waiting.interrupt_id, approved=approved, rejection_message=reason, decided_by=local_user()
            )
        except InvalidRequest as refused:
            self._terminal.say(f"Nothing was decided. {refused}")
            return await self._decide(session_id, waiting)
        if not accepted:
            self._terminal.say("The call does not wait any more: somebody else has decided.")
        else:
            self._terminal.say("Approved." if approved else "Rejected; the call is not made.")
        return 0

    async def _ask(self) -> tuple[bool | None, str | None]:
        approved = await self._terminal.confirm("Approve this call?")
        if approved is not False:
            return approved, None
        reason = (await self._terminal.ask("Reason, for the agent (may be empty): ") or "").strip()
        return False, None if is_blank(reason) else reason

    async def _until_decided(self, session_id: str, waiting: Interrupt) -> None:
        while True:
            # A database that is away for a moment must not take the question from the person.
            with contextlib.suppress(DatabaseUnavailable):
                now = await self._waiting(session_id)
                if now is None or now.interrupt_id != waiting.interrupt_id:
                    return
            await asyncio.sleep(_TICK_SECONDS)

    async def _waiting(self, session_id: str) -> Interrupt | None:
        return (await self._sessions.get_snapshot(session_id)).state.pending_interrupt

    async def _end(self, session_id: str, event: SessionEvent) -> int:
        match event.kind:
            case EventKind.TURN_ANSWERED:
                self._terminal.say()
                self._terminal.say(f"agent: {event.data['text']}")
                self._terminal.say()
                return 0
            case EventKind.TURN_FAILED:
                self._terminal.say(f"The turn failed. {event.data['error']}", style="31")
                return 0 if self._terminal.can_ask else _FAILED
            case EventKind.TURN_CANCELLED:
                self._terminal.say("The turn was cancelled.")
                return 0
            case _:
                self._terminal.say(f"The session {session_id} has ended.")
                return _FAILED


class _Own:
    """Which turn answers a message, found out as its events come."""

    def __init__(self, *, message_id: str | None = None, turn: int | None = None) -> None:
        self._message_id = message_id
        self._turn = turn

    @property
    def is_running(self) -> bool:
        return self._turn is not None

    def notice(self, event: SessionEvent) -> None:
        if event.kind is EventKind.TURN_STARTED and event.data["message_id"] == self._message_id:
            self._turn = event.data["turn"]

    def is_of(self, event: SessionEvent) -> bool:
        return self._turn is not None and event.data["turn"] == self._turn


async def _next(events: AsyncIterator[SessionEvent]) -> SessionEvent | None:
    return await anext(events, None)
