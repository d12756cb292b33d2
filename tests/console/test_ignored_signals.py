"""A server or a Worker started where signals are ignored, as by `nohup` or `&` in a script, goes on ignoring them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.console.conftest import ROOT, SCRIPTED, environment

IGNORING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-m", "dexbridge.console", *sys.argv[1:]])
"""


@pytest.mark.parametrize(
    ("command", "says"),
    [(["serve", "--port", "0"], "serves on http"), (["worker"], "The Worker runs")],
    ids=["serve", "worker"],
)
def test_what_was_ignored_at_the_start_does_not_stop_it(tmp_path: Path, command: list[str], says: str) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", IGNORING, *command, "--app", SCRIPTED, "--url", f"sqlite:///{tmp_path / 's.db'}"],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=ROOT,
            env=environment(),
        )
    while says not in log.read_text():
        assert process.poll() is None, log.read_text()
        time.sleep(0.02)
    for one in (signal.SIGINT, signal.SIGHUP):
        process.send_signal(one)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(40) == 0
