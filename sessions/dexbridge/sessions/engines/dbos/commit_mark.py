"""What a commit leaves of itself, so that whoever lost its answer can read whether it was done."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from dexbridge.sessions.engines.dbos.schema import commits
from dexbridge.sessions.errors import DatabaseUnavailable

__all__ = ["KEPT_COMMITS", "CommitMark"]

KEPT_COMMITS = 32
"""How many commits of a session are remembered. A Step or a request has one commit under way."""


@dataclass(frozen=True, slots=True)
class CommitMark:
    """One commit of a session.

    Attributes:
        session_id: The session.
        version: The version of the session this commit makes.
        token: Its own.
    """

    session_id: str
    version: int
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    def write(self, connection: Connection) -> None:
        """Writes the mark in the transaction it stands for."""
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        values = {"version": self.version, "token": self.token}
        connection.execute(
            dialect.insert(commits)
            .values(session_id=self.session_id, place=self.version % KEPT_COMMITS, **values)
            .on_conflict_do_update(index_elements=[commits.c.session_id, commits.c.place], set_=values)
        )

    def is_held(self, connection: Connection) -> bool:
        """Whether the commit was done.

        Raises:
            DatabaseUnavailable: So much was committed since that it cannot be told.
        """
        place = (commits.c.session_id == self.session_id) & (commits.c.place == self.version % KEPT_COMMITS)
        row = connection.execute(select(commits.c.version, commits.c.token).where(place)).one_or_none()
        if row is not None and row.version > self.version:
            raise DatabaseUnavailable(f"{KEPT_COMMITS} commits of {self.session_id!r} came after one that was unclear")
        return row is not None and row.token == self.token
