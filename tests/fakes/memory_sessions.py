"""Sessions in memory behind the port of the host of Steps, for a Worker that may be lost at any of its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from dexbridge.sessions.errors import DispatchCancelled, StepFenced
from dexbridge.sessions.hosting.ledger import Attempt, AttemptState
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.event import NewEvent
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.transition import Change, Refusal, Settle, TranscriptEntry, Transition

__all__ = ["MemorySession", "WorkerLost"]


class WorkerLost(BaseException):
    """The process is gone; nothing in it goes on."""


@dataclass
class MemorySession:
    """One session. It commits whole or not at all.

    Attributes:
        lost_at: How many of the Worker's next calls are answered before it is lost; `None` when it lives.
    """

    state: SessionState
    events: list[NewEvent] = field(default_factory=list[NewEvent])
    records: dict[str, CallRecord] = field(default_factory=dict[str, CallRecord])
    rows: dict[tuple[str, int], Attempt] = field(default_factory=dict[tuple[str, int], Attempt])
    entries: list[TranscriptEntry] = field(default_factory=list[TranscriptEntry])
    lost_at: int | None = None

    def apply(self, change: Change) -> Transition | Refusal:
        """As a client's request."""
        result = change(self.state)
        if isinstance(result, Transition):
            self.state = result.state
            self.events.extend(result.events)
            self.entries.extend(result.transcript)
            self.records.update({record.step_execution_id: record for record in result.calls})
        return result

    async def load(self, session_id: str) -> SessionState:
        return self.state

    async def commit(self, session_id: str, change: Change) -> Transition | Refusal:
        self.maybe_lost()
        result = self.apply(change)
        self.maybe_lost()
        return result

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Transition | Refusal:
        record = self.records.get(step_execution_id)
        if record is None:
            return Refusal("no call was recorded")
        return self.apply(lambda state: settle(state, record))

    async def transcript(self, session_id: str) -> Sequence[TranscriptEntry]:
        return list(self.entries)

    async def calls(self, session_id: str) -> Sequence[CallRecord]:
        return list(self.records.values())

    def ledger(self, session_id: str, owner: str, is_ours: Callable[[SessionState], bool]) -> MemoryLedger:
        return MemoryLedger(self, owner, is_ours)

    @contextmanager
    def following(self, session_id: str) -> Generator[asyncio.Event]:
        yield asyncio.Event()

    async def news(self, changed: asyncio.Event) -> None:
        await asyncio.sleep(0.001)

    def maybe_lost(self) -> None:
        if self.lost_at is None:
            return
        if self.lost_at == 0:
            raise WorkerLost
        self.lost_at -= 1


@dataclass
class MemoryLedger:
    """The rows of the session, for one run."""

    session: MemorySession
    owner: str
    is_ours: Callable[[SessionState], bool]

    async def last(self, step_execution_id: str) -> Attempt | None:
        numbers = [number for step, number in self.session.rows if step == step_execution_id]
        return self.session.rows[step_execution_id, max(numbers)] if numbers else None

    async def open(self, step_execution_id: str, number: int, window: timedelta) -> Attempt | None:
        self.session.maybe_lost()
        if not self.is_ours(self.session.state):
            raise StepFenced("taken over")
        if self.session.state.cancelling:
            raise DispatchCancelled("cancelled")
        if (step_execution_id, number) in self.session.rows:
            return None
        row = Attempt(
            step_execution_id=step_execution_id,
            number=number,
            owner=self.owner,
            opened_at=now(),
            dispatch_before=now() + window,
        )
        self.session.rows[step_execution_id, number] = row
        self.session.maybe_lost()
        return row

    async def close(
        self, attempt: Attempt, state: AttemptState, outcome: dict[str, Any] | None, at: datetime
    ) -> Attempt:
        self.session.maybe_lost()
        key = (attempt.step_execution_id, attempt.number)
        kept = self.session.rows[key]
        if kept.state is AttemptState.OPEN:
            kept = kept.model_copy(update={"state": state, "closed_at": at, "outcome": outcome})
            self.session.rows[key] = kept
        self.session.maybe_lost()
        return kept
