"""What every connection to a database of ours needs, whoever opens it: we, or DBOS from a URL.

A plugin of SQLAlchemy, since `DBOS.migrate` takes nothing but a URL, and a URL can name plugins.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy import URL, Engine, event
from sqlalchemy.dialects import plugins
from sqlalchemy.engine import CreateEnginePlugin

from dexbridge.sessions.engines.dbos.databases import sqlite_clock

__all__ = ["PLUGIN", "EveryConnection"]

PLUGIN = "dexbridge"
"""For `create_engine(plugins=[PLUGIN])`, or as `plugin` in a URL."""


class EveryConnection(CreateEnginePlugin):
    """Prepares the connections of an engine."""

    def update_url(self, url: URL) -> URL:
        return url

    def engine_created(self, engine: Engine) -> None:
        if engine.dialect.name == "sqlite" and sqlite_clock.NEEDED:
            event.listen(engine, "connect", _give_clock)


def _give_clock(connection: sqlite3.Connection, _record: Any) -> None:
    sqlite_clock.give_clock(connection)


plugins.register(PLUGIN, __name__, EveryConnection.__name__)
