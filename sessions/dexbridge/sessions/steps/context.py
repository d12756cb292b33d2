"""What a Step may use, and what it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.hosting.ledger import StepLedger
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.step import StepExecution
from dexbridge.sessions.state.transition import Change, TranscriptEntry

__all__ = ["Step", "StepContext", "completed"]


@dataclass(frozen=True, slots=True)
class StepContext:
    """One execution of a Step.

    Attributes:
        flow: The session's flow.
        state: The state the Step starts from; others may change the session while it runs.
        step: This execution.
        ledger: The session's attempts.
        load_transcript: Reads the committed transcript.
        load_calls: Reads the records of the session's calls, oldest first.
        say: Takes text the model is writing; best effort.
        record: Commits an event by itself, now; raises `StepFenced` once another run has taken over.
        cancelled: Returns once the turn is being cancelled, raises `StepFenced` once another run has taken over.
        started_at: When this execution began.
    """

    flow: AgentSessionFlow
    state: SessionState
    step: StepExecution
    ledger: StepLedger
    load_transcript: Callable[[], Awaitable[Sequence[TranscriptEntry]]]
    load_calls: Callable[[], Awaitable[Sequence[CallRecord]]]
    say: Callable[[str], None]
    record: Callable[[NewEvent], Awaitable[None]]
    cancelled: Callable[[], Coroutine[Any, Any, None]]
    started_at: datetime

    async def pause(self, seconds: float) -> None:
        """Waits so long, or until the turn is being cancelled; raises `StepFenced` as `cancelled` does."""
        cancelled = asyncio.ensure_future(self.cancelled())
        try:
            await asyncio.wait([cancelled], timeout=seconds)
            if cancelled.done():
                cancelled.result()
        finally:
            cancelled.cancel()
            await asyncio.gather(cancelled, return_exceptions=True)


Step = Callable[[StepContext], Awaitable[Change]]
"""Does the Step's work, then returns the pure change to apply to the newest state."""


def completed(context: StepContext, **data: Any) -> NewEvent:
    """The event every Step leaves: its name, its identity, how long it took, and what is particular to it."""
    ended = now()
    return NewEvent(
        kind=EventKind.STEP_COMPLETED,
        data={
            "step": context.step.type.value,
            "step_execution_id": context.step.id,
            "turn": context.state.turn,
            "started_at": context.started_at.isoformat(),
            "duration_ms": round((ended - context.started_at).total_seconds() * 1000, 1),
            **data,
        },
    )
