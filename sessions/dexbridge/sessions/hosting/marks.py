"""Names that are marked for a time, for every process of a database: such as logins that have ended."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

__all__ = ["Marks"]


class Marks(Protocol):
    """Marks beside the sessions, and no part of any."""

    async def mark(self, name: str, until: datetime) -> None:
        """Marks a name of at most 64 characters until an aware time; from then on it may be forgotten.

        Raises:
            DatabaseUnavailable: Whether it is marked is not known; mark it again.
        """
        ...

    async def is_marked(self, name: str) -> bool:
        """Whether a name is marked. Raises `DatabaseUnavailable`."""
        ...
