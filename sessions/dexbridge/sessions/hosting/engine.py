"""The engine port: what runs Steps durably."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Protocol, Self

from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.hosting.marks import Marks
from dexbridge.sessions.state.event import SessionEvent
from dexbridge.sessions.state.snapshot import SessionSnapshot, SessionSummary
from dexbridge.sessions.state.transition import Change, MessageKey, Refusal, Repeated, Settle, Transition

__all__ = ["SessionEngine"]


class SessionEngine(Protocol):
    """Commits changes of sessions and runs the Steps that are due.

    Every method is safe to call from several tasks. An engine is an async context manager: a Worker runs Steps
    between entering and leaving it.
    """

    @property
    def flows(self) -> Sequence[AgentSessionFlow]:
        """The flows whose sessions it runs."""
        ...

    @property
    def marks(self) -> Marks | None:
        """What all processes of its database see marked; `None` when it keeps nothing but sessions."""
        ...

    async def start(self, first: Transition) -> bool:
        """Commits a new session; `False` when the ID was ever used."""
        ...

    async def change(
        self, session_id: str, change: Change, *, once: MessageKey | None = None
    ) -> Transition | Refusal | Repeated:
        """Applies a change to the newest state and commits it; a leg it opens is run.

        With `once`, a key that was committed before changes nothing: `Repeated` when the digest is the same, else a
        refusal. Raises `UnknownSession`.
        """
        ...

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Transition | Refusal:
        """Applies a change that needs the record of a call. Raises `UnknownSession`."""
        ...

    async def prune(self, older_than: datetime) -> Sequence[str]:
        """Deletes sessions that are idle or ended and were last changed before; keeps their IDs. Returns the IDs.

        A session that holds an outcome nobody knows is not deleted.
        """
        ...

    async def snapshot(self, session_id: str) -> SessionSnapshot:
        """What is committed. Raises `UnknownSession`."""
        ...

    async def list_sessions(
        self, *, limit: int, after: str | None, changed_since: datetime | None
    ) -> Sequence[SessionSummary]:
        """Sessions by ID, at most `limit`, those after the ID `after` that changed since then."""
        ...

    def events(self, session_id: str, *, after: int, follow: bool) -> AsyncIterator[SessionEvent]:
        """The log after sequence `after`; with `follow` it goes on as the session does. Raises `UnknownSession`."""
        ...

    def listen(self, session_id: str) -> AsyncIterator[str]:
        """Text as the session's model writes it in this process, from now on; best effort."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
