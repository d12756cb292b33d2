"""What the processes of the tests are given."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
SESSION_KEY = "session-key-of-the-tests"
OPERATOR_KEY = "operator-key-of-the-tests"
SCRIPTED = "tests.console.scripted_app:flows"


def environment(**more: str) -> dict[str, str]:
    """What a process of the tests gets: nothing of the person who runs them but the paths."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "DEX_AGENT_SESSION_KEY": SESSION_KEY, "DEX_OPERATOR_KEY": OPERATOR_KEY, **more}
