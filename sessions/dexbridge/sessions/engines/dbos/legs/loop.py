"""An event loop of our own for DBOS's side of a leg, so that the application's loop stays as it was.

DBOS replaces the default executor of every loop it is called in, and shuts that executor down when it is destroyed:
after a close the application's `asyncio.to_thread` would raise for ever.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from dbos import DBOS

__all__ = ["LegLoop", "in_own_thread", "quiet_close"]

_JOIN_SECONDS = 10.0


class LegLoop:
    """A thread that runs coroutines until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="dexbridge-legs", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, None]) -> concurrent.futures.Future[None]:
        """Runs work in a context of its own: the caller may be a tool, inside another session's Step."""
        return contextvars.Context().run(asyncio.run_coroutine_threadsafe, work, self._loop)

    def finish(self) -> None:
        """Waits for what still runs, but not for long; call it in another thread."""
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(_finish_all(), self._loop).result(_JOIN_SECONDS)

    def close(self) -> None:
        """Cancels what still runs and ends the thread; call it in another thread."""
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result(_JOIN_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()


async def in_own_thread(work: Callable[[], None]) -> None:
    """Runs work in a new thread: the loop's executor is gone with DBOS when the application used DBOS in this loop."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        await asyncio.get_running_loop().run_in_executor(pool, work)


async def _finish_all() -> None:
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@contextlib.contextmanager
def quiet_close() -> Generator[None]:
    """DBOS warns of every workflow that a close stops; the next start goes on with it."""

    def is_error(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR

    log = DBOS.logger
    log.addFilter(is_error)
    try:
        yield
    finally:
        log.removeFilter(is_error)
