"""Test kit for agents on the Claude adapter: a Messages API server that answers from a script.

The real Claude Code CLI talks to it over HTTP, so a test or a demo runs the whole path offline and without a
key. Importing this package does not need ``claude_agent_sdk``.
"""

from dexbridge.claude.testing.model_request import ConversationMessage, ModelRequest, ToolResult
from dexbridge.claude.testing.order_support import order_support_script
from dexbridge.claude.testing.replies import (
    ApiError,
    Block,
    CutStream,
    ModelReply,
    Reply,
    Slow,
    Text,
    Thinking,
    ToolUse,
)
from dexbridge.claude.testing.script_file import ScriptFileError, read_script
from dexbridge.claude.testing.server import Respond, ScriptedModel
from dexbridge.claude.testing.told import snapshots_of

__all__ = [
    "ApiError",
    "Block",
    "ConversationMessage",
    "CutStream",
    "ModelReply",
    "ModelRequest",
    "Reply",
    "Respond",
    "ScriptFileError",
    "ScriptedModel",
    "Slow",
    "Text",
    "Thinking",
    "ToolResult",
    "ToolUse",
    "order_support_script",
    "read_script",
    "snapshots_of",
]
