"""How a process hears at once of what others commit to its database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sqlalchemy import Engine

from dexbridge.sessions.engines.dbos.waking.file_watch import FileWatch
from dexbridge.sessions.engines.dbos.waking.listening import Listening
from dexbridge.sessions.engines.dbos.waking.notices import LEG_OPENED, SESSION_CHANGED

__all__ = ["Hearing", "hearing_of"]


class Hearing(Protocol):
    """Tells of the commits of other processes, from when it was started. Made in the engine's loop and used there."""

    @property
    def works(self) -> bool:
        """Whether commits are told of at once; else those who wait must look for themselves."""
        ...

    def start(self) -> None:
        """Begins to hear; once is enough."""
        ...

    async def close(self) -> None:
        """Ends it."""
        ...


def hearing_of(engine: Engine, heard: Callable[[str, str], None], missed: Callable[[], None]) -> Hearing:
    """How it is heard on that database.

    Args:
        engine: The database.
        heard: Takes the channel and the payload of each notice.
        missed: Called when something may have been committed of which there is no notice: look everywhere now.
    """
    if engine.dialect.name == "postgresql":
        return Listening(engine, (SESSION_CHANGED, LEG_OPENED), heard, missed)
    return FileWatch(engine, missed)
