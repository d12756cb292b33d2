"""Commits and reads of sessions without blocking the loop; commits of this process wake who waits for them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from dexbridge.sessions.engines.dbos.store import Committed, SessionStore
from dexbridge.sessions.state import SessionState
from dexbridge.sessions.transition import Change, MessageKey, Refusal, Repeated, Settle, TranscriptEntry

__all__ = ["Commits"]


class Commits:
    """The store, in threads. Made in the engine's loop and used there."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._made = asyncio.Condition()
        self._count = 0
        self._cancelling: set[str] = set()

    @property
    def count(self) -> int:
        """How many commits this process has made; changes with each."""
        return self._count

    async def commit(
        self, session_id: str, change: Change, once: MessageKey | None = None
    ) -> Committed | Refusal | Repeated:
        """See `SessionStore.commit`."""
        result = await asyncio.to_thread(self._store.commit, session_id, change, once)
        if isinstance(result, Committed):
            self._note(result.transition.state)
            await self.announce()
        return result

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Committed | Refusal:
        """See `SessionStore.settle`."""
        result = await asyncio.to_thread(self._store.settle, session_id, step_execution_id, settle)
        await self.announce()
        return result

    async def load(self, session_id: str) -> SessionState:
        """The newest state."""
        return await asyncio.to_thread(self._store.load, session_id)

    async def transcript(self, session_id: str) -> Sequence[TranscriptEntry]:
        """The committed transcript."""
        return await asyncio.to_thread(self._store.transcript, session_id)

    def is_cancelling(self, session_id: str) -> bool:
        """Whether this process has committed that the session's turn is to be cancelled."""
        return session_id in self._cancelling

    async def wait(self, until: Callable[[], bool], seconds: float) -> None:
        """Waits for a commit of this process that makes `until` true, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._made:
                await self._made.wait_for(until)

    async def announce(self) -> None:
        """Wakes everyone who waits."""
        self._count += 1
        async with self._made:
            self._made.notify_all()

    def _note(self, state: SessionState) -> None:
        if state.cancelling:
            self._cancelling.add(state.session_id)
        else:
            self._cancelling.discard(state.session_id)
