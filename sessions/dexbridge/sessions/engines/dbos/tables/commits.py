"""Commits and reads of sessions without blocking the loop; each commit is news for who follows the session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from dexbridge.sessions.engines.dbos.databases.database import AnswerLost
from dexbridge.sessions.engines.dbos.tables.attempts import SqlAttemptLedger
from dexbridge.sessions.engines.dbos.tables.commit_mark import CommitMark
from dexbridge.sessions.engines.dbos.tables.store import Committed, SessionStore, Unanswered
from dexbridge.sessions.engines.dbos.waking.hearing import Hearing
from dexbridge.sessions.engines.dbos.waking.news import News
from dexbridge.sessions.errors import CommitUnclear, DatabaseUnavailable
from dexbridge.sessions.hosting.ledger import AttemptLedger
from dexbridge.sessions.hosting.patience import for_seconds, until_back
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.transition import (
    Change,
    MessageKey,
    Refusal,
    Repeated,
    Settle,
    TranscriptEntry,
    Transition,
)

__all__ = ["Commits", "HostedStore"]

T = TypeVar("T")

_TRIES = 3
_NOT_DONE = "The database was lost during each COMMIT, nothing was committed"


class Commits:
    """Commits for requests from outside: whoever asks is told soon when the database is away.

    A commit whose answer was lost is read back for some seconds. Made in the engine's loop and used there.
    """

    def __init__(self, store: SessionStore, hearing: Hearing) -> None:
        self.store = store
        self.news = News(store.versions, hearing)

    async def start(self, first: Transition) -> bool:
        """See `SessionStore.start`. Raises `CommitUnclear`."""
        mark = CommitMark(first.state.session_id, 1)
        try:
            return await asyncio.to_thread(self.store.start, first, mark)
        except AnswerLost:
            return await _unless_unclear(None, lambda: asyncio.to_thread(self.store.start, first, mark))

    async def commit(
        self, session_id: str, change: Change, once: MessageKey | None = None
    ) -> Committed | Refusal | Repeated:
        """See `SessionStore.commit`. Raises `CommitUnclear`."""
        for _ in range(_TRIES):
            result = await asyncio.to_thread(self.store.commit, session_id, change, once)
            if (told := await self._told(session_id, result, once)) is not None:
                return told
        raise AnswerLost(_NOT_DONE)

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Committed | Refusal:
        """See `SessionStore.settle`. Raises `CommitUnclear`."""
        for _ in range(_TRIES):
            result = await asyncio.to_thread(self.store.settle, session_id, step_execution_id, settle)
            if (told := await self._told(session_id, result)) is not None:
                return told
        raise AnswerLost(_NOT_DONE)

    async def _told(
        self, session_id: str, result: T | Committed | Unanswered, once: MessageKey | None = None
    ) -> T | Committed | None:
        """The result of a commit; `None` when it was not done."""
        if isinstance(result, Unanswered):
            mark = result.mark
            if not await _unless_unclear(once, lambda: asyncio.to_thread(self.store.holds, mark)):
                return None
            result = result.written
        if isinstance(result, Committed):
            self.news.tell(session_id, result.version)
        return result


class HostedStore:
    """The store as the host of Steps needs it: see `HostedSessions`."""

    def __init__(self, commits: Commits) -> None:
        self._store = commits.store
        self._news = commits.news

    async def load(self, session_id: str) -> SessionState:
        return await until_back(lambda: asyncio.to_thread(self._store.load, session_id))

    async def commit(self, session_id: str, change: Change) -> Transition | Refusal:
        return await self._written(session_id, lambda: self._store.commit(session_id, change))

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Transition | Refusal:
        return await self._written(session_id, lambda: self._store.settle(session_id, step_execution_id, settle))

    async def transcript(self, session_id: str) -> Sequence[TranscriptEntry]:
        return await until_back(lambda: asyncio.to_thread(self._store.transcript, session_id))

    async def calls(self, session_id: str) -> Sequence[CallRecord]:
        return (await until_back(lambda: asyncio.to_thread(self._store.snapshot, session_id))).calls

    def ledger(self, session_id: str, owner: str, is_ours: Callable[[SessionState], bool]) -> AttemptLedger:
        return SqlAttemptLedger(self._store.engine, session_id, owner, is_ours)

    def following(self, session_id: str) -> AbstractContextManager[asyncio.Event]:
        return self._news.following(session_id)

    async def news(self, changed: asyncio.Event) -> None:
        await changed.wait()

    async def _written(
        self, session_id: str, write: Callable[[], Committed | Unanswered | Refusal | Repeated]
    ) -> Transition | Refusal:
        while True:
            result = await until_back(lambda: asyncio.to_thread(write))
            if isinstance(result, Unanswered):
                mark = result.mark
                if not await until_back(lambda mark=mark: asyncio.to_thread(self._store.holds, mark)):
                    continue
                result = result.written
            if isinstance(result, Committed):
                self._news.tell(session_id, result.version)
                return result.transition
            assert not isinstance(result, Repeated), "a Step's commit has no message's key"
            return result


async def _unless_unclear(once: MessageKey | None, work: Callable[[], Awaitable[T]]) -> T:
    try:
        return await for_seconds(work)
    except DatabaseUnavailable as error:
        raise CommitUnclear(
            "The database was lost during a COMMIT", None if once is None else once.message_id
        ) from error
