"""Marks in a table: see `dexbridge.sessions.hosting.marks`."""

from __future__ import annotations

import asyncio
from datetime import datetime

from sqlalchemy import Engine, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from dexbridge.sessions.engines.dbos.databases.database import reading, writing
from dexbridge.sessions.engines.dbos.tables.schema import marks
from dexbridge.sessions.state.persisted import now

__all__ = ["StoredMarks"]


class StoredMarks:
    """The marks of a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def mark(self, name: str, until: datetime) -> None:
        await asyncio.to_thread(self._mark, name, until.timestamp())

    async def is_marked(self, name: str) -> bool:
        return await asyncio.to_thread(self._is_marked, name)

    def _mark(self, name: str, until: float) -> None:
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        row = dialect.insert(marks).values(name=name, until=until)
        with writing(self._engine) as connection:
            connection.execute(delete(marks).where(marks.c.until < now().timestamp()))
            connection.execute(row.on_conflict_do_update(index_elements=[marks.c.name], set_={"until": until}))

    def _is_marked(self, name: str) -> bool:
        with reading(self._engine) as connection:
            return connection.execute(select(marks.c.name).where(marks.c.name == name)).scalar_one_or_none() is not None
