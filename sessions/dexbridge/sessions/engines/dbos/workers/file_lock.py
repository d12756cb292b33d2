"""One Worker process per SQLite file."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dexbridge.sessions.engines.dbos.databases.sqlite_file import sqlite_path
from dexbridge.sessions.errors import DatabaseUnavailable, WorkerAlreadyRunning

__all__ = ["check_file_is_not_gone", "worker_lock"]

# A byte that no database reaches and SQLite does not lock.
_BYTE = 1 << 62


@contextmanager
def worker_lock(url: str) -> Generator[None]:
    """Holds the SQLite file for this process; the system lets go of it even when the process is killed.

    Another database is not locked: it serves several Workers.

    Raises:
        WorkerAlreadyRunning: Another process holds the file, by whatever name.
    """
    path = sqlite_path(url)
    if path is None:
        yield
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as held:
        # One beside it, which is all that older versions look at; and the file itself, since it may have several names.
        # In this order, or an empty file would be made where another Worker's was deleted.
        if not (_hold(_opened(_beside(path), held)) and _hold_byte(_opened(path, held))):
            raise WorkerAlreadyRunning(
                f"Another Worker process serves {path}: stop it, open this one with run_steps=False, or use "
                "postgresql:// for several Workers."
            )
        yield


def check_file_is_not_gone(url: str) -> None:
    """Passes unless a Worker serves a file of that name which is gone: what is said in a new one, nobody would run.

    Raises:
        DatabaseUnavailable: It is gone.
    """
    path = sqlite_path(url)
    if path is None or path.exists() or not path.parent.exists():
        return
    with ExitStack() as held:
        if not _hold(_opened(_beside(path), held)):
            raise DatabaseUnavailable(
                f"The database file {path} is gone, and a Worker process still has it open. Nothing was made in its "
                "place: stop that process, put the file back with its -wal file, and start it again."
            )


def _beside(path: Path) -> Path:
    return Path(f"{path}.worker")


def _opened(path: Path, held: ExitStack) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    held.callback(os.close, descriptor)
    return descriptor


def _hold(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _hold_byte(descriptor: int) -> bool:
    """Locks one byte of the file. Not all of it by `flock`: some systems hold that against SQLite's own locks."""
    if sys.platform != "linux":
        return True
    lock = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, _BYTE, 1, 0)
    with suppress(BlockingIOError):
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, lock)
        return True
    return False
