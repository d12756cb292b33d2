"""One line in the log when the database goes away, which says why, and one when it is back."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from dexbridge.sessions.engines.dbos.databases.faults import Fault, fault_of
from dexbridge.sessions.engines.dbos.databases.sqlite_file import FileGone

__all__ = ["Outage"]

logger = logging.getLogger(__name__)

_SURE_AFTER_SECONDS = 3.0
"""Longer than between two signs of life: what can be read while it cannot be written is not back."""


class Outage:
    """Whether an engine's database is away. Called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began: float | None = None
        self._met = 0.0
        self._watching = False

    @property
    def lasts(self) -> bool:
        """Whether the database is away, as far as is known."""
        return self._began is not None

    def watch(self) -> None:
        """From now on the log is told. Before, whoever opens the database is."""
        self._watching = True

    def met(self, fault: Fault) -> None:
        """Somebody met a fault."""
        if not (fault.lasts and self._watching):
            return
        with self._lock:
            self._met = time.monotonic()
            if self._began is not None:
                return
            self._began = self._met
        logger.error("The database fails: %s. Sessions wait, and it is tried again until it works.", fault.why)

    def worked(self) -> None:
        """A transaction was done."""
        with self._lock:
            if self._began is None or time.monotonic() - self._met < _SURE_AFTER_SECONDS:
                return
            lasted, self._began = self._met - self._began, None
        logger.warning("The database works again, after %.0f s.", lasted)

    @contextmanager
    def keeping_dbos_quiet(self) -> Generator[None]:
        """Leaves out what DBOS logs of an outage: the line above has said it."""

        def tells_something(_record: logging.LogRecord) -> bool:
            # DBOS logs an error while it handles it, and may be the first to meet it.
            error = sys.exception()
            fault = error.fault if isinstance(error, FileGone) else fault_of(error) if error else None
            if fault is not None:
                self.met(fault)
            return fault is None and self._began is None

        log = logging.getLogger("dbos")
        log.addFilter(tells_something)
        try:
            yield
        finally:
            log.removeFilter(tells_something)
