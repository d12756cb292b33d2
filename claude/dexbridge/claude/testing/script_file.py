"""A script of replies as a JSON file, for the server started by hand.

The file holds a list. Each entry is one of::

    {"reply": [{"text": "One moment."}, {"tool": "mcp__tools__look_up_order", "input": {"order_id": "1002"}}],
     "delay": 0.5}
    {"reply": [{"text": "It ships on Thurs"}], "stop_reason": "max_tokens"}
    {"slow": [{"text": "One word at a time."}], "pause": 0.2}
    {"cut": [{"text": "It will not"}], "after_blocks": 0}
    {"error": 529, "type": "overloaded_error", "message": "Overloaded"}
"""

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from dexbridge.claude.testing.replies import (
    ApiError,
    Block,
    CutStream,
    ModelReply,
    Reply,
    Slow,
    Text,
    ToolUse,
)

_Seconds = Annotated[float, Field(ge=0)]


class ScriptFileError(ValueError):
    """A script file cannot be used; the text names the file and every fault."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _TextBlock(_Entry):
    text: str

    def block(self) -> Block:
        return Text(self.text)


class _ToolBlock(_Entry):
    tool: str
    input: dict[str, Any] = {}
    id: str | None = None

    def block(self) -> Block:
        return ToolUse(self.tool, self.input, self.id)


class _ReplyEntry(_Entry):
    reply: list[_TextBlock | _ToolBlock]
    delay: _Seconds = 0.0
    stop_reason: str | None = None

    def value(self) -> ModelReply:
        return Reply(*(entry.block() for entry in self.reply), delay=self.delay, stop_reason=self.stop_reason)


class _SlowEntry(_Entry):
    slow: list[_TextBlock | _ToolBlock]
    pause: _Seconds
    delay: _Seconds = 0.0

    def value(self) -> ModelReply:
        return Slow(*(entry.block() for entry in self.slow), pause=self.pause, delay=self.delay)


class _CutEntry(_Entry):
    cut: list[_TextBlock | _ToolBlock]
    after_blocks: int | None = None
    pause: _Seconds = 0.0

    def value(self) -> ModelReply:
        return CutStream(*(entry.block() for entry in self.cut), after_blocks=self.after_blocks, pause=self.pause)


class _ErrorEntry(_Entry):
    error: Annotated[int, Field(ge=400, le=599)]
    type: str = ""
    message: str = "Scripted error"

    def value(self) -> ModelReply:
        return ApiError(self.error, self.type, self.message)


_ENTRIES: TypeAdapter[list[_ReplyEntry | _SlowEntry | _CutEntry | _ErrorEntry]] = TypeAdapter(
    list[_ReplyEntry | _SlowEntry | _CutEntry | _ErrorEntry]
)


def read_script(path: Path) -> tuple[ModelReply, ...]:
    """The replies of a script file, in order.

    Raises:
        ScriptFileError: the file is missing, is not JSON, or an entry has another form.
    """
    try:
        return tuple(entry.value() for entry in _ENTRIES.validate_python(json.loads(path.read_bytes())))
    except (OSError, ValidationError, ValueError) as error:
        raise ScriptFileError(f"The script file {str(path)!r} cannot be used: {error}") from error
