"""One Worker process per SQLite file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager

from dexbridge.sessions.engines.dbos.database import sqlite_path
from dexbridge.sessions.errors import WorkerAlreadyRunning

__all__ = ["worker_lock"]


@contextmanager
def worker_lock(url: str) -> Generator[None]:
    """Holds the SQLite file for this process; the system lets go of it even when the process is killed.

    Another database is not locked: it serves several Workers.

    Raises:
        WorkerAlreadyRunning: Another process holds the file.
    """
    path = sqlite_path(url)
    if path is None:
        yield
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(f"{path}.worker", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkerAlreadyRunning(
                f"Another Worker process serves {path}: stop it, open this one with run_steps=False, or use "
                "postgresql:// for several Workers."
            ) from None
        yield
    finally:
        os.close(descriptor)
