"""What a commit leaves of itself, so that whoever lost its answer can read whether it was done."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from dexbridge.sessions.errors import DatabaseUnavailable

__all__ = ["KEPT_COMMITS", "CommitMark"]

KEPT_COMMITS = 32
"""How many commits of a session are remembered. A Step or a request has one commit under way."""


@dataclass(frozen=True, slots=True)
class CommitMark:
    """One commit of a session.

    The session's row keeps the marks of its last commits as text, "version:token" each, the newest last. A Worker of
    an older version commits without one.

    Attributes:
        session_id: The session.
        version: The version of the session this commit makes.
        token: Its own.
    """

    session_id: str
    version: int
    token: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    def added_to(self, kept: str) -> str:
        """The marks of the session's row with this one."""
        return " ".join([*kept.split()[1 - KEPT_COMMITS :], self._written])

    def is_in(self, kept: str) -> bool:
        """Whether the commit was done, by the marks of the session's row.

        Raises:
            DatabaseUnavailable: So much was committed since that it cannot be told.
        """
        marks = kept.split()
        if self._written in marks:
            return True
        if len(marks) == KEPT_COMMITS and int(marks[0].partition(":")[0]) > self.version:
            raise DatabaseUnavailable(f"{KEPT_COMMITS} commits of {self.session_id!r} came after one that was unclear")
        return False

    @property
    def _written(self) -> str:
        return f"{self.version}:{self.token}"
