"""What importing the room costs."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("claude_agent_sdk", "slack_sdk", "aiohttp", "dbos", "httpx", "sqlalchemy", "jsonschema")


def test_the_room_loads_no_framework_no_engine_and_no_http_client() -> None:
    code = f"import sys, dexbridge.toolsource; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_sessions_room_loads_no_engine_before_one_is_opened() -> None:
    code = f"import sys, dexbridge.sessions; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
