"""Tells who follows a session that it has changed: at once, or soon where other processes are not heard."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Generator, Mapping, Sequence

from dexbridge.sessions.engines.dbos.waking.ending import ended
from dexbridge.sessions.engines.dbos.waking.hearing import Hearing
from dexbridge.sessions.errors import DatabaseUnavailable

__all__ = ["News"]

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5
# A notice can be lost with its connection, and a Worker of an older version sends none.
_LOOK_WHERE_IT_IS_HEARD_SECONDS = 2.0


class News:
    """One look at the database for all that is followed in this process, and none while nothing is.

    Made in the engine's loop and used there.

    Args:
        versions: Reads the versions of sessions; blocks.
        hearing: Where it works, what it tells is news, and the looks are rare.
    """

    def __init__(self, versions: Callable[[Sequence[str]], Mapping[str, int]], hearing: Hearing) -> None:
        self._read_versions = versions
        self._hearing = hearing
        self._followers: dict[str, list[asyncio.Event]] = {}
        self._seen: dict[str, int | None] = {}
        self._looking: asyncio.Task[None] | None = None
        self._now = asyncio.Event()
        self._closed = False

    @contextlib.contextmanager
    def following(self, session_id: str) -> Generator[asyncio.Event]:
        """An event that is set whenever the session may have changed; clear it, then read, then wait for it."""
        changed = asyncio.Event()
        if self._closed:
            changed.set()
        self._followers.setdefault(session_id, []).append(changed)
        # It may have changed before it was followed: the first look tells, whatever it sees.
        self._seen.pop(session_id, None)
        if self._looking is None and not self._closed:
            self._hearing.start()
            self._looking = asyncio.create_task(self._look_for_ever())
        try:
            yield changed
        finally:
            self._followers[session_id].remove(changed)
            if not self._followers[session_id]:
                del self._followers[session_id]
                self._seen.pop(session_id, None)

    def tell(self, session_id: str, version: int | None = None) -> None:
        """The session has changed; with its version, the next look does not tell the same again."""
        if version is not None and self._seen.get(session_id) is not None:
            self._seen[session_id] = version
        for changed in self._followers.get(session_id, ()):
            changed.set()

    def look(self) -> None:
        """Any of the sessions may have changed."""
        self._now.set()

    async def close(self) -> None:
        """Wakes everyone, and whoever comes later; waits for the look that is under way."""
        self._closed = True
        self._now.set()
        for session_id in list(self._followers):
            self.tell(session_id)
        await ended([] if self._looking is None else [self._looking])

    async def _look_for_ever(self) -> None:
        try:
            while self._followers and not self._closed:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._pause()):
                        await self._now.wait()
                self._now.clear()
                if not self._closed:
                    await self._look()
        finally:
            self._looking = None

    def _pause(self) -> float:
        return _LOOK_WHERE_IT_IS_HEARD_SECONDS if self._hearing.works else _LOOK_SECONDS

    async def _look(self) -> None:
        followed = list(self._followers)
        try:
            versions = await asyncio.to_thread(self._read_versions, followed)
        except DatabaseUnavailable:
            return  # `Outage` has said it
        except Exception as error:  # noqa: BLE001 - the next look tries again
            logger.warning("Looking for news of sessions raised %s.", type(error).__name__)
            return
        for session_id in followed:
            version = versions.get(session_id)
            if session_id not in self._seen or self._seen[session_id] != version:
                self._seen[session_id] = version
                self.tell(session_id)
