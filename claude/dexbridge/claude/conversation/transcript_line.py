"""One line of the CLI's transcript of the main conversation, read for what it means."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

__all__ = ["TranscriptLine"]

_SYNTHETIC = "<synthetic>"


@dataclass(frozen=True)
class TranscriptLine:
    """A line by its JSON text; it is written as it was stored, unless it must hang elsewhere."""

    text: str

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The entry."""
        return cast("Mapping[str, Any]", json.loads(self.text))

    @property
    def uuid(self) -> str | None:
        """Its identity; the CLI's bookkeeping has none."""
        return self.data.get("uuid")

    @property
    def parent(self) -> str | None:
        """The line it hangs on; the first of a conversation, and of one that was compacted, hang on none."""
        return self.data.get("parentUuid")

    @property
    def is_models(self) -> bool:
        """Whether the model said it, or the CLI in its place."""
        return self.data.get("type") == "assistant"

    @property
    def is_spoken(self) -> bool:
        """Whether a person, the model or a tool said it."""
        return self.data.get("type") == "user" or (self.is_models and not self.is_made_up)

    @property
    def is_made_up(self) -> bool:
        """Whether the CLI says something in the model's place, such as "No response requested.", or nothing is said."""
        if not self.is_models:
            return False
        said = any(block.get("type") != "text" or str(block.get("text", "")).strip() for block in self._blocks)
        return not said or self._message.get("model") == _SYNTHETIC

    @property
    def is_compaction(self) -> bool:
        """Whether the conversation was compacted here: the CLI reads nothing before it that it does not name."""
        return self.data.get("type") == "system" and self.data.get("subtype") == "compact_boundary"

    @property
    def deferred(self) -> str | None:
        """Tool-use ID of the call whose deferral it records."""
        attachment = cast("Mapping[str, Any]", self.data.get("attachment") or {})
        return str(attachment.get("toolUseID")) if attachment.get("type") == "hook_deferred_tool" else None

    @cached_property
    def calls(self) -> Mapping[str, Mapping[str, Any]]:
        """The calls it asks for, by tool-use ID."""
        if not self.is_models:
            return {}
        return {str(block.get("id")): block for block in self._blocks if block.get("type") == "tool_use"}

    @cached_property
    def answered(self) -> Sequence[str]:
        """Tool-use IDs of the results it holds."""
        held = () if self.is_models else self._blocks
        return [str(block.get("tool_use_id")) for block in held if block.get("type") == "tool_result"]

    @property
    def ids(self) -> Sequence[str]:
        """The API's IDs in it: of the reply, and of the calls it asks for."""
        reply = self._message.get("id") if self.is_models and not self.is_made_up else None
        return [*([str(reply)] if reply else ()), *self.calls]

    def continues(self, other: TranscriptLine) -> bool:
        """Whether it is a further block of the other's reply: the CLI writes one line per block."""
        return self.is_models and other.is_models and self._message.get("id") == other._message.get("id")

    def under(self, parent: str | None) -> str:
        """Its text, hanging on that line."""
        if self.parent == parent:
            return self.text
        return json.dumps({**self.data, "parentUuid": parent}, separators=(",", ":"))

    @cached_property
    def _message(self) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", self.data.get("message") or {})

    @cached_property
    def _blocks(self) -> Sequence[Mapping[str, Any]]:
        content: Any = self._message.get("content")
        return cast("Sequence[Mapping[str, Any]]", content) if isinstance(content, list) else ()
