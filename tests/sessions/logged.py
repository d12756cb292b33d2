"""What is logged from WARNING on, DBOS's records too, which it keeps to itself."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["logged"]


class _Keeping(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextmanager
def logged() -> Generator[list[str]]:
    """The messages, as they come."""
    keeping = _Keeping()
    loggers = [logging.getLogger(), logging.getLogger("dbos")]
    for one in loggers:
        one.addHandler(keeping)
    try:
        yield keeping.said
    finally:
        for one in loggers:
            one.removeHandler(keeping)
