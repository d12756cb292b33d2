"""What the host of Steps needs of an engine. Engines store, lock, wake and schedule; they run no Step themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from dexbridge.sessions.hosting.ledger import AttemptLedger
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.transition import Change, Refusal, Settle, TranscriptEntry, Transition

__all__ = ["HostedSessions"]


class HostedSessions(Protocol):
    """The sessions of an engine, as the host of Steps sees them.

    Every coroutine waits for the database as long as it takes: a Step that runs must not lose what it knows because
    the database is away. It ends when the task is cancelled. All of them raise `UnknownSession` for a session that is
    gone.
    """

    async def load(self, session_id: str) -> SessionState:
        """The newest state."""
        ...

    async def commit(self, session_id: str, change: Change) -> Transition | Refusal:
        """Applies the change to the newest state and commits it, once.

        An answer that is lost on its way is read back: the change is applied again only when it was not committed.
        """
        ...

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Transition | Refusal:
        """Applies a change that needs the record of a call; a refusal when there is no record yet."""
        ...

    async def transcript(self, session_id: str) -> Sequence[TranscriptEntry]:
        """The committed transcript, in order."""
        ...

    async def calls(self, session_id: str) -> Sequence[CallRecord]:
        """The records of the session's calls, oldest first."""
        ...

    def ledger(self, session_id: str, owner: str, is_ours: Callable[[SessionState], bool]) -> AttemptLedger:
        """The session's rows of the attempt ledger, for one run.

        Args:
            session_id: The session.
            owner: Token of the run, written into the rows it opens.
            is_ours: Whether the session, in its newest state, is still this run's. One that was taken over may open
                no row: the other run has drawn its conclusion from the rows it found.
        """
        ...

    def following(self, session_id: str) -> AbstractContextManager[asyncio.Event]:
        """An event that is set when the session may have changed: clear it, read, then wait for it with `news`."""
        ...

    async def news(self, changed: asyncio.Event) -> None:
        """Returns when the event is set, or when it is time to look without it."""
        ...
