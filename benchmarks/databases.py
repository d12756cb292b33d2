"""The databases a benchmark runs on: a new SQLite file, and a new PostgreSQL database when a server is named."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import NullPool, create_engine, make_url, text

__all__ = ["DATABASES", "new_database"]

DATABASES = ("SQLite", *(["PostgreSQL"] if os.environ.get("DEXBRIDGE_TEST_POSTGRES") else []))
"""PostgreSQL needs DEXBRIDGE_TEST_POSTGRES (`make services`)."""


@contextmanager
def new_database(kind: str) -> Generator[str]:
    """URL of an empty database; gone at the end."""
    if kind == "SQLite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/sessions.db"
        return
    server = make_url(os.environ["DEXBRIDGE_TEST_POSTGRES"])
    name = f"dexbridge_bench_{uuid.uuid4().hex}"
    admin = create_engine(server.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with admin.connect() as connection:
        connection.execute(text(f"create database {name}"))
    try:
        yield server.set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.execute(text(f"drop database {name} with (force)"))
