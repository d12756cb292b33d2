"""A conversation in the terminal: messages in, answers out, and a question for every call that waits."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator
from getpass import getuser
from typing import Final

from dexbridge.console.shown.timeline import timeline
from dexbridge.console.shown.wording import left_out_label
from dexbridge.console.terminal import Terminal
from dexbridge.sessions import AgentSessionClient, EventKind, SessionEvent, SessionStatus, StepType

__all__ = ["Chat"]

_FAILED: Final = 1
_NOBODY_TO_ASK: Final = 3
_TICK_SECONDS: Final = 1.0
_QUIET_SECONDS: Final = 20.0
_ENDS: Final = (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED, EventKind.TURN_CANCELLED, EventKind.SESSION_ENDED)


class Chat:
    """Talks to one session.

    Args:
        sessions: Of the flow to talk to.
        terminal: Where.
        quiet_seconds: After so long without anything new it says, once a turn, what may be wrong.
    """

    def __init__(
        self, sessions: AgentSessionClient, terminal: Terminal, *, quiet_seconds: float = _QUIET_SECONDS
    ) -> None:
        self._sessions = sessions
        self._terminal = terminal
        self._quiet_seconds = quiet_seconds
        self._seen = 0
        self._input_ended = False

    async def run(self, session_id: str | None) -> int:
        """Talks until the input ends; returns the exit code."""
        if session_id is None:
            session_id = f"chat-{uuid.uuid4()}"
            await self._sessions.start_session(session_id)
            self._terminal.say(f"Session {session_id}. Go on with it later: dexbridge chat --session {session_id}")
        else:
            code = await self._resume(session_id)
            if code:
                return code
        while (text := await self._next_message()) is not None:
            if not text.strip():
                continue
            if not await self._sessions.send_user_message(session_id, text):
                self._terminal.say("The session did not take the message: it has ended, or too many wait.")
                return _FAILED
            code = await self._follow(session_id)
            if code:
                return code
        return 0

    async def _next_message(self) -> str | None:
        if self._input_ended:
            return None
        if self._terminal.can_ask:
            return await self._terminal.ask("> ")
        return await self._terminal.read_line()

    async def _resume(self, session_id: str) -> int:
        snapshot = await self._sessions.get_snapshot(session_id)
        for message in snapshot.messages:
            self._terminal.say(f"{message.role.value}{left_out_label(message)}: {message.text}")
        self._seen = snapshot.last_event
        if snapshot.state.pending_interrupt is not None and (code := await self._decide(session_id)):
            return code
        newest = await self._sessions.get_snapshot(session_id)
        if newest.state.status in (SessionStatus.RUNNING, SessionStatus.WAITING):
            return await self._follow(session_id)
        return 0

    async def _follow(self, session_id: str) -> int:
        """Shows what happens until the turn is over."""
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
                if event.kind is EventKind.INTERRUPT_OPENED:
                    if code := await self._decide(session_id):
                        return code
                    since = time.monotonic()
                elif event.kind in _ENDS:
                    return await self._end(session_id, event)
                else:
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

    async def _decide(self, session_id: str) -> int:
        waiting = (await self._sessions.get_snapshot(session_id)).state.pending_interrupt
        if waiting is None:
            return 0
        self._terminal.interrupt(waiting)
        if not self._terminal.can_ask:
            self._terminal.say(
                "Nobody can be asked here, so the call goes on waiting: "
                f"dexbridge sessions approve {session_id}, or reject."
            )
            return _NOBODY_TO_ASK
        approved = await self._terminal.confirm("Approve this call?")
        reason = None
        if approved is None:
            # A terminal would be read from again.
            self._input_ended = True
            self._terminal.say("The input has ended without an answer, so the call is rejected.")
        elif not approved:
            reason = await self._terminal.ask("Reason, for the agent (may be empty): ")
        accepted = await self._sessions.resolve_interrupt(
            session_id,
            waiting.interrupt_id,
            approved=approved is True,
            rejection_message=(reason or "").strip() or None,
            decided_by=getuser(),
        )
        if not accepted:
            self._terminal.say("The call does not wait any more: somebody else has decided.")
        elif approved is not None:
            self._terminal.say("Approved." if approved else "Rejected; the call is not made.")
        return 0

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


async def _next(events: AsyncIterator[SessionEvent]) -> SessionEvent | None:
    return await anext(events, None)
