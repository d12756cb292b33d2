"""Commits and reads of sessions without blocking the loop; each commit is news for who follows the session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dexbridge.sessions.call import CallRecord
from dexbridge.sessions.engines.dbos.news import News
from dexbridge.sessions.engines.dbos.store import Committed, SessionStore
from dexbridge.sessions.state import SessionState
from dexbridge.sessions.transition import Change, MessageKey, Refusal, Repeated, Settle, TranscriptEntry

__all__ = ["Commits"]


class Commits:
    """The store, in threads. Made in the engine's loop and used there."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self.news = News(store.versions)

    async def commit(
        self, session_id: str, change: Change, once: MessageKey | None = None
    ) -> Committed | Refusal | Repeated:
        """See `SessionStore.commit`."""
        result = await asyncio.to_thread(self._store.commit, session_id, change, once)
        if isinstance(result, Committed):
            self.news.tell(session_id)
        return result

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Committed | Refusal:
        """See `SessionStore.settle`."""
        result = await asyncio.to_thread(self._store.settle, session_id, step_execution_id, settle)
        if isinstance(result, Committed):
            self.news.tell(session_id)
        return result

    async def load(self, session_id: str) -> SessionState:
        """The newest state."""
        return await asyncio.to_thread(self._store.load, session_id)

    async def calls(self, session_id: str) -> Sequence[CallRecord]:
        """The records of its calls, oldest first."""
        return (await asyncio.to_thread(self._store.snapshot, session_id)).calls

    async def transcript(self, session_id: str) -> Sequence[TranscriptEntry]:
        """The committed transcript."""
        return await asyncio.to_thread(self._store.transcript, session_id)
