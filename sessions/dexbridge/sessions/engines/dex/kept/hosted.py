"""Sessions on a Dex Server as the host of Steps needs them: see `HostedSessions`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from dexbridge.sessions.engines.dex.kept.ledger import DexAttemptLedger
from dexbridge.sessions.engines.dex.link import SessionLink
from dexbridge.sessions.engines.dex.news import News, wait_for
from dexbridge.sessions.hosting.ledger import AttemptLedger
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.transition import Change, Refusal, Repeated, Settle, TranscriptEntry, Transition

__all__ = ["HostedLink"]


class HostedLink:
    """A link that waits for its server.

    Args:
        link: The way to the sessions, made when first needed.
        news: Tells of this process's commits; what another process commits is seen at the next look.
    """

    def __init__(self, link: Callable[[], SessionLink], news: Callable[[], News]) -> None:
        self._link = link
        self._news = news

    async def load(self, session_id: str) -> SessionState:
        return (await self._waiting.load(session_id)).state

    async def commit(self, session_id: str, change: Change) -> Transition | Refusal:
        result = await self._waiting.change(session_id, change)
        assert not isinstance(result, Repeated), "a Step's commit has no message's key"
        return result

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Transition | Refusal:
        return await self._waiting.settle(session_id, step_execution_id, settle)

    async def transcript(self, session_id: str) -> Sequence[TranscriptEntry]:
        return await self._waiting.transcript(session_id)

    async def calls(self, session_id: str) -> Sequence[CallRecord]:
        return await self._waiting.calls(session_id)

    def ledger(self, session_id: str, owner: str, is_ours: Callable[[SessionState], bool]) -> AttemptLedger:
        return DexAttemptLedger(self._waiting, session_id, owner, is_ours)

    def following(self, session_id: str) -> AbstractContextManager[asyncio.Event]:
        return self._news().following(session_id)

    async def news(self, changed: asyncio.Event) -> None:
        await wait_for(changed)

    @property
    def _waiting(self) -> SessionLink:
        return self._link().waiting()
