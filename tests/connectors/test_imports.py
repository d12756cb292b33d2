"""What importing the room brings along, and the names it offers."""

from __future__ import annotations

import subprocess
import sys

import dexbridge.connectors

OFFERS_EVERYTHING = """
import sys
from dexbridge.connectors import slack, installed_connectors
from dexbridge.connectors.testing import MemoryConnection, MemoryProject

connection = slack.new_project_connection(MemoryProject(MemoryConnection("slack", "main")), "main")
connection.post_thread_reply().input_schema()
connection.post_channel_message().validate({"channel_id": "C0123456789", "text": "Hello"})
installed_connectors()
heavy = [name for name in ("slack_sdk", "aiohttp", "dbos", "claude_agent_sdk", "requests") if name in sys.modules]
print(heavy)
"""


def test_building_operations_imports_no_http_client() -> None:
    result = subprocess.run([sys.executable, "-c", OFFERS_EVERYTHING], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_public_names_are_sorted_and_there() -> None:
    names = dexbridge.connectors.__all__
    constants = [name for name in names if name.isupper()]
    classes = [name for name in names if not name.isupper() and name[0].isupper()]
    functions = [name for name in names if name[0].islower()]
    assert names == sorted(constants) + sorted(classes) + sorted(functions)
    assert all(hasattr(dexbridge.connectors, name) for name in names)
