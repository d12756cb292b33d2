"""One turn of a session, followed from another process than the Worker's: its Steps as they happen, its approval."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dexbridge.console.demo.errors import NotTrue
from dexbridge.console.demo.screen import Screen
from dexbridge.console.demo.settings import APPROVE_VARIABLE
from dexbridge.sessions import AgentSessionClient, CallRecord, EventKind, SessionEvent

_DECIDED_BY: Final = "the person at the demo"
_ANSWERS: Final[Mapping[str, bool]] = {"y": True, "yes": True, "n": False, "no": False}


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn came to.

    Attributes:
        steps: Step execution IDs in the order they were committed.
        answer: What the agent said at the end.
        calls: Every call with its outcome.
        approved: What the person decided; `None` when nobody was asked.
    """

    session_id: str
    steps: tuple[str, ...]
    answer: str
    calls: tuple[CallRecord, ...]
    approved: bool | None


class TurnOnScreen:
    """Sends a message to a new session and shows what happens until the agent has answered.

    Args:
        sessions: A client of the Worker's database.
        screen: Where it is shown.
        approve: The decision given beforehand; `None` asks at the terminal.
    """

    def __init__(self, sessions: AgentSessionClient, screen: Screen, approve: bool | None) -> None:
        self._sessions = sessions
        self._screen = screen
        self._approve = approve
        self._approved: bool | None = None
        self._steps: list[str] = []
        self._shown: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def run(self, message: str) -> Turn:
        """Runs the turn.

        Raises:
            NotTrue: the turn failed; the message says why.
        """
        session_id = f"demo-{uuid.uuid4()}"
        await self._sessions.start_session(session_id)
        self._screen.fact("session", session_id)
        self._screen.fact("user", message)
        self._screen.gap()
        await self._sessions.send_user_message(session_id, message)
        async for event in self._sessions.read_events(session_id, follow=True):
            match event.kind:
                case EventKind.STEP_COMPLETED:
                    self._show_step(event)
                case EventKind.INTERRUPT_OPENED:
                    await self._decide(session_id, event.data)
                case EventKind.OUTCOME_UNKNOWN:
                    self._screen.fact("OUTCOME UNKNOWN", str(event.data["text"]))
                case EventKind.TURN_FAILED:
                    raise NotTrue(f"The turn failed: {event.data['error']}")
                case EventKind.TURN_ANSWERED:
                    answer = str(event.data["text"])
                    self._screen.gap()
                    self._screen.fact("agent", answer)
                    calls = (await self._sessions.get_snapshot(session_id)).calls
                    return Turn(session_id, tuple(self._steps), answer, calls, self._approved)
                case _:
                    pass
        raise NotTrue("The session's events ended before the agent had answered.")

    async def wait_until_shown(self, step_execution_id: str) -> None:
        """Waits until that Step is on the screen."""
        await self._shown[step_execution_id].wait()

    def _show_step(self, event: SessionEvent) -> None:
        data = event.data
        step_execution_id = str(data["step_execution_id"])
        details = [f"Call ID {data['call_id']}"] if data.get("call_id") else []
        self._screen.step(step_execution_id, data["duration_ms"], _what_it_did(data), details)
        self._steps.append(step_execution_id)
        self._shown[step_execution_id].set()

    async def _decide(self, session_id: str, interrupt: Mapping[str, Any]) -> None:
        screen = self._screen
        screen.gap()
        screen.say("Waiting for a person; what waits is a row in the database.")
        screen.exact("tool", str(interrupt["tool"]))
        screen.exact("connection", str(interrupt["connection"] or "none, a function of the application"))
        screen.exact("arguments", json.dumps(interrupt["arguments"], indent=2, ensure_ascii=False))
        if self._approve is None:
            self._approved = await self._ask()
        else:
            self._approved = self._approve
            screen.say(f"  Approve this call? {'yes' if self._approve else 'no'} ({APPROVE_VARIABLE})")
        if not self._approved:
            screen.say("  Rejected; the call is not made.")
        screen.gap()
        accepted = await self._sessions.resolve_interrupt(
            session_id, str(interrupt["interrupt_id"]), approved=self._approved, decided_by=_DECIDED_BY
        )
        if not accepted:
            raise NotTrue("The session did not take the decision.")

    async def _ask(self) -> bool:
        while (answer := await self._screen.ask("  Approve this call? [y/n] ")) is not None:
            decided = _ANSWERS.get(answer.lower())
            if decided is not None:
                return decided
            self._screen.say("  Answer y or n.")
        self._screen.say("  The input has ended without an answer.")
        return False


def _what_it_did(data: Mapping[str, Any]) -> str:
    if data.get("error"):
        return f"failed: {data['error']}"
    if data.get("outcome"):
        return str(data["outcome"])
    if data.get("approved") is True:
        return "approved"
    match data.get("ended"):
        case "call_left":
            return f"asks for {data['tool']}"
        case "answered":
            return "answered"
        case _:
            return "result recorded, back to the model"
