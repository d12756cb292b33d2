"""Transcript entries of the CLI's own format, made by us: a deferral, and the result of a call.

A transcript that ends with the deferral entry of a call resumes in a new process exactly as after a real deferral. They
are made only for CLI versions on which a test has compared ours with real ones, field by field
(`tests/claude/test_made_entries.py`).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dexbridge.claude.conversation.results import told_text
from dexbridge.claude.conversation.transcript_line import TranscriptLine
from dexbridge.claude.versions import TESTED_CLI
from dexbridge.sessions import CallResult, TranscriptEntry

__all__ = ["COMPARED_CLI_VERSIONS", "deferral_entry", "holds_call", "result_entry"]

COMPARED_CLI_VERSIONS = frozenset({TESTED_CLI})

_COPIED = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch")


def holds_call(entry: TranscriptEntry, tool_use_id: str) -> bool:
    """Whether the entry is the model's, of the main conversation, with that tool use."""
    return entry.subpath is None and tool_use_id in entry.json and tool_use_id in TranscriptLine(entry.json).calls


def deferral_entry(
    transcript: Sequence[TranscriptEntry], tool_use_id: str, permission_mode: str
) -> TranscriptEntry | None:
    """The entry for a call whose own entry is in the transcript; `None` when it is not there.

    Args:
        transcript: What the segment added so far.
        tool_use_id: The call.
        permission_mode: The CLI's, as the hook was told.
    """
    asked = _asked(transcript, tool_use_id)
    if asked is None:
        return None
    call = asked.calls[tool_use_id]
    return _entry(
        asked,
        {
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
        },
    )


def result_entry(transcript: Sequence[TranscriptEntry], result: CallResult) -> TranscriptEntry | None:
    """The entry with the recorded result of a call; `None` when its own entry is not there, or of an untried CLI.

    Args:
        transcript: The conversation's.
        result: What the model is told.
    """
    asked = _asked(transcript, result.tool_use_id)
    if asked is None or asked.data.get("version") not in COMPARED_CLI_VERSIONS:
        return None
    content = [{"type": "text", "text": told_text(result)}]
    block: dict[str, Any] = {"tool_use_id": result.tool_use_id, "type": "tool_result", "content": content}
    if result.is_error:
        block["is_error"] = True
    return _entry(
        asked,
        {
            "type": "user",
            "message": {"role": "user", "content": [block]},
            "toolUseResult": content,
            "sourceToolAssistantUUID": asked.uuid,
        },
    )


def _asked(transcript: Sequence[TranscriptEntry], tool_use_id: str) -> TranscriptLine | None:
    return next((TranscriptLine(entry.json) for entry in transcript if holds_call(entry, tool_use_id)), None)


def _entry(asked: TranscriptLine, particular: Mapping[str, Any]) -> TranscriptEntry:
    entry: dict[str, Any] = {
        "parentUuid": asked.uuid,
        "isSidechain": False,
        **particular,
        "uuid": str(uuid.uuid4()),
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        **{name: asked.data[name] for name in _COPIED if name in asked.data},
    }
    return TranscriptEntry(json.dumps(entry, separators=(",", ":")))
