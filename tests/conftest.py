"""Processes that tests start: none inherits an ignored signal, and none outlives a test that failed."""

from __future__ import annotations

import signal
import time
from collections.abc import Generator
from contextlib import suppress
from typing import Any

import psutil
import pytest

# What `make test &` and `nohup make test` ignore.
_SIGNALS = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM)
_failed = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """A program started anew keeps ignoring what was ignored, while what was handled gets its default.

    So this process goes on doing nothing on such a signal, by a function. The one that only gives tests to others
    is left as it is, or its own children would get the default.
    """
    if getattr(config.option, "dist", "no") != "no":
        return
    for one in _SIGNALS:
        if signal.getsignal(one) is signal.SIG_IGN:
            signal.signal(one, lambda _number, _frame: None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_failed] = item.stash.get(_failed, False) or report.failed
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Ends what a failed test has left. What its fixtures started for later tests too is older than its own part."""
    began: list[float] = []
    item.stash[_began] = began
    try:
        return (yield)
    finally:
        if item.stash.get(_failed, False) and began:
            _end_since(began[0])


_began = pytest.StashKey[list[float]]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    item.stash[_began].append(time.clock_gettime(time.CLOCK_BOOTTIME))


def _end_since(moment: float) -> None:
    """Moments are seconds since the boot, in which a process has its start to a hundredth."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.create_time() - psutil.boot_time() >= moment - 0.02:
                process.kill()
                process.wait(5)
