"""A SQLite file goes from one Python to another, each with a SQLite of its own, and back."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHONS = [sys.executable, *filter(None, os.environ.get("DEXBRIDGE_TEST_PYTHONS", "").split(":"))]


def turn(python: str, how: str, url: str, words: str) -> str:
    done = subprocess.run(
        [*shlex.split(python), "-m", "tests.fakes.one_turn", how, url, words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{python} {how}: {done.stderr[-2000:]}"
    return done.stdout.strip()


@pytest.mark.skipif(len(PYTHONS) < 2, reason="DEXBRIDGE_TEST_PYTHONS names no other Python: `make debian13` does")
@pytest.mark.parametrize(("maker", "opener"), list(permutations(PYTHONS, 2)))
def test_a_file_of_one_python_goes_on_in_another_and_back(maker: str, opener: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/private/sessions.db"
    assert turn(maker, "ask", url, "one") == "you said one"
    turn(maker, "leave", url, "two")
    assert turn(opener, "take", url, "two") == "you said two"
    assert turn(opener, "ask", url, "three") == "you said three"
    turn(opener, "leave", url, "four")
    assert turn(maker, "take", url, "four") == "you said four"
