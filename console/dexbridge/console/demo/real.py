"""`make demo REAL=1`: the real model, the real Slack, one reply that a person approves."""

from __future__ import annotations

import re
from typing import Final

from dexbridge.console.demo.errors import CannotStart, NotTrue
from dexbridge.console.demo.screen import Screen
from dexbridge.console.demo.turn import TurnOnScreen
from dexbridge.console.demo.worker_process import WorkerProcess
from dexbridge.sessions import AgentSessionClient
from dexbridge.toolsource import OutcomeKind

_CHANNEL: Final = re.compile(r"[CGD][A-Z0-9]{2,}")
_THREAD: Final = re.compile(r"\d{10,}\.\d{6}")


async def reply_for_real(worker: WorkerProcess, sessions: AgentSessionClient, screen: Screen) -> None:
    """Asks where to reply and what, and follows the turn. No Worker is killed here.

    Raises:
        CannotStart: no channel ID, thread timestamp or text was given.
        NotTrue: a call the person approved did not succeed.
    """
    screen.title("One reply in your Slack")
    channel = await _ask(screen, "Channel ID, such as C0123456789", _CHANNEL)
    thread = await _ask(screen, "Thread timestamp, such as 1710000000.000100", _THREAD)
    text = await _ask(screen, "What to reply", re.compile(r".*\S.*"))
    screen.gap()
    message = f"Reply in Slack thread {channel} {thread}: {text}"
    turn = await worker.while_it_runs(TurnOnScreen(sessions, screen, None).run(message))
    screen.gap()
    for call in turn.calls:
        screen.fact("outcome", f"{call.tool}: {call.outcome}, attempts: {call.attempts}")
        if call.receipt is not None:
            screen.fact("receipt", f"message {call.receipt['provider_object_id']}, Call ID {call.call_id}")
    succeeded = [call for call in turn.calls if call.outcome is OutcomeKind.SUCCEEDED]
    if turn.approved and not succeeded:
        raise NotTrue("The approved call did not succeed; the lines above say what became of it.")


async def _ask(screen: Screen, what: str, form: re.Pattern[str]) -> str:
    answer = await screen.ask(f"  {what}: ") or ""
    if not form.fullmatch(answer):
        raise CannotStart(f"{what}: that was not one. Nothing was sent.")
    return answer
