"""The transcript entry the CLI writes when a call is deferred, made by us for a call that waits in its process.

A transcript that ends with it resumes in a new process exactly as after a real deferral. It is the CLI's own format:
it is made only for CLI versions on which a test has compared ours with a real one, field by field
(`tests/claude/test_parking.py`).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from dexbridge.claude.versions import TESTED_CLI
from dexbridge.sessions import TranscriptEntry

__all__ = ["COMPARED_CLI_VERSIONS", "deferral_entry", "holds_call"]

COMPARED_CLI_VERSIONS = frozenset({TESTED_CLI})

_COPIED = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch")


def holds_call(entry: TranscriptEntry, tool_use_id: str) -> bool:
    """Whether the entry is the assistant's, of the main conversation, with that tool use."""
    return entry.subpath is None and tool_use_id in entry.json and _call_in(_parsed(entry), tool_use_id) is not None


def deferral_entry(
    transcript: Sequence[TranscriptEntry], tool_use_id: str, permission_mode: str
) -> TranscriptEntry | None:
    """The entry for a call whose assistant entry is in the transcript; `None` when it is not there.

    Args:
        transcript: What the segment added so far.
        tool_use_id: The call.
        permission_mode: The CLI's, as the hook was told.
    """
    assistant = next((_parsed(entry) for entry in transcript if holds_call(entry, tool_use_id)), None)
    if assistant is None:
        return None
    call = _call_in(assistant, tool_use_id)
    assert call is not None
    entry: dict[str, Any] = {
        "parentUuid": assistant.get("uuid"),
        "isSidechain": False,
        "attachment": {
            "type": "hook_deferred_tool",
            "toolUseID": tool_use_id,
            "toolName": call.get("name"),
            "toolInput": call.get("input"),
            "hookName": "settings",
            "hookEvent": "PreToolUse",
            "permissionMode": permission_mode,
        },
        "type": "attachment",
        "uuid": str(uuid.uuid4()),
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        **{name: assistant[name] for name in _COPIED if name in assistant},
    }
    return TranscriptEntry(json.dumps(entry, separators=(",", ":")))


def _parsed(entry: TranscriptEntry) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", json.loads(entry.json))


def _call_in(entry: Mapping[str, Any], tool_use_id: str) -> Mapping[str, Any] | None:
    message = cast("Mapping[str, Any]", entry.get("message") or {})
    content: Any = message.get("content")
    if entry.get("type") != "assistant" or not isinstance(content, list):
        return None
    blocks = cast("list[Mapping[str, Any]]", content)
    return next((block for block in blocks if block.get("type") == "tool_use" and block.get("id") == tool_use_id), None)
