"""Tests started where signals are ignored, as by `nohup make test &`; tests that fail while their process runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[1]

INNER = """
import signal, subprocess, sys, time
from pathlib import Path

SLEEPS = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"]

def test_children_end_on_signals():
    for one in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        with subprocess.Popen(SLEEPS, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            child.stdout.readline()
            child.send_signal(one)
            assert child.wait(10) != 0

def test_that_fails():
    child = subprocess.Popen(SLEEPS)
    Path("left").write_text(str(child.pid))
    raise AssertionError
"""


@pytest.mark.parametrize("how", [[], ["--numprocesses=1"]], ids=["alone", "xdist"])
def test_children_get_default_signals_and_a_failed_test_leaves_none(tmp_path: Path, how: list[str]) -> None:
    (tmp_path / "test_inner.py").write_text(INNER)
    inner = subprocess.run(
        [
            *(sys.executable, "-c", _RUN, "-q", "-p", "tests.conftest", "-p", "no:cacheprovider"),
            *("-c", os.devnull, f"--rootdir={tmp_path}", *how, str(tmp_path / "test_inner.py")),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        text=True,
        timeout=100,
    )
    assert "1 failed, 1 passed" in inner.stdout, inner.stdout + inner.stderr
    assert not psutil.pid_exists(int((tmp_path / "left").read_text()))


_RUN = """
import signal, sys, pytest
for one in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(one, signal.SIG_IGN)
sys.exit(pytest.main(sys.argv[1:]))
"""
