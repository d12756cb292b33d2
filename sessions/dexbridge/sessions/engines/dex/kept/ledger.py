"""The attempt ledger in Attributes: a row is committed by an RPC before the request leaves."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dexbridge.sessions.engines.dex.kept.schema import ATTEMPTS, physical
from dexbridge.sessions.engines.dex.kept.stored import decode
from dexbridge.sessions.engines.dex.kept.writing import attempt_key, commit_of
from dexbridge.sessions.engines.dex.link import SessionLink
from dexbridge.sessions.errors import DispatchCancelled, StepFenced
from dexbridge.sessions.hosting.ledger import Attempt, AttemptState
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.transition import Transition
from dexbridge.toolsource import OutcomeKind

__all__ = ["DexAttemptLedger"]

_ROWS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class DexAttemptLedger:
    """The attempts of one session. A row and the session's version are written together, so a row is inserted once.

    Attributes:
        link: The way to the session.
        session_id: The session.
        owner: Token of this run, written into the rows it opens.
        is_ours: Whether the session, in its newest state, is still this run's.
    """

    link: SessionLink
    session_id: str
    owner: str
    is_ours: Callable[[SessionState], bool]

    async def last(self, step_execution_id: str) -> Attempt | None:
        newest: Attempt | None = None
        first = 1
        while True:
            keys = [attempt_key(step_execution_id, number) for number in range(first, first + _ROWS_AT_ONCE)]
            _, found = await self.link.read(self.session_id, [(ATTEMPTS, key) for key in keys])
            for key in keys:
                text = found.get(physical(ATTEMPTS, key))
                if text is None:
                    return newest
                newest = decode(Attempt, text, self.session_id)
            first += _ROWS_AT_ONCE

    async def open(self, step_execution_id: str, number: int, window: timedelta) -> Attempt | None:
        row = (ATTEMPTS, attempt_key(step_execution_id, number))
        while True:
            before, found = await self.link.read(self.session_id, [row])
            if not self.is_ours(before.state):
                raise StepFenced(f"{step_execution_id} of {self.session_id!r} was taken over; it sends nothing.")
            if before.state.cancelling:
                raise DispatchCancelled(f"The turn of {self.session_id!r} is being cancelled; nothing is sent.")
            if found:
                # By another run; or by an earlier try of this one, whose answer was lost: nothing was sent under it.
                kept = decode(Attempt, found[physical(*row)], self.session_id)
                return kept if kept.owner == self.owner else None
            opened = now()
            attempt = Attempt(
                step_execution_id=step_execution_id,
                number=number,
                owner=self.owner,
                opened_at=opened,
                dispatch_before=opened + window,
            )
            commit = commit_of(before, Transition(before.state), uuid.uuid4().hex)
            if await self.link.try_commit(self.session_id, commit.model_copy(update={"attempts": (attempt,)})):
                return attempt

    async def close(
        self, attempt: Attempt, state: AttemptState, outcome: dict[str, Any] | None, at: datetime
    ) -> Attempt:
        key = attempt_key(attempt.step_execution_id, attempt.number)
        while True:
            before, found = await self.link.read(self.session_id, [(ATTEMPTS, key)])
            kept = decode(Attempt, found[physical(ATTEMPTS, key)], self.session_id)
            if kept.state is not AttemptState.OPEN and not _settles(kept, outcome):
                return kept
            closed = kept.model_copy(update={"state": state, "closed_at": at, "outcome": outcome})
            commit = commit_of(before, Transition(before.state), uuid.uuid4().hex)
            if await self.link.try_commit(self.session_id, commit.model_copy(update={"attempts": (closed,)})):
                return closed


def _settles(kept: Attempt, outcome: dict[str, Any] | None) -> bool:
    """A late true answer settles what another run had to leave unknown."""
    unknown = OutcomeKind.OUTCOME_UNKNOWN.value
    return (
        outcome is not None
        and outcome["kind"] != unknown
        and kept.outcome is not None
        and kept.outcome["kind"] == unknown
    )
