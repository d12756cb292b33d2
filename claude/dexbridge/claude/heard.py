"""What the model said in one run of the CLI, as it was heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from claude_agent_sdk import AssistantMessage, ResultMessage, TextBlock, ToolUseBlock

from dexbridge.claude.results import well_formed

__all__ = ["Heard"]


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of a reply of the model, with the reply's ID."""

    reply: str | None
    block: TextBlock | ToolUseBlock


class Heard:
    """The model's replies of the main conversation, from one end of a run to the next."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def clear(self) -> None:
        """Another run begins."""
        self._blocks.clear()

    def hear(self, message: AssistantMessage) -> None:
        """Takes the next blocks of a reply."""
        self._blocks.extend(
            _Block(message.message_id, block)
            for block in message.content
            if isinstance(block, TextBlock | ToolUseBlock)
        )

    def before(self, tool_use_id: str) -> str:
        """What was said before a call. Text after it was written without its result, and is dropped.

        Cut at the end of the run: a block may be heard before or after the hook has decided about its call.
        """
        texts: list[str] = []
        for heard in self._blocks:
            if isinstance(heard.block, TextBlock):
                texts.append(heard.block.text)
            elif heard.block.id == tool_use_id:
                break
        return well_formed(_joined(texts))

    def answer(self, message: ResultMessage) -> str:
        """The whole last reply; the CLI's own result is only its last text block."""
        last = self._blocks[-1].reply if self._blocks else None
        texts = [
            heard.block.text for heard in self._blocks if heard.reply == last and isinstance(heard.block, TextBlock)
        ]
        return well_formed(_joined(texts) or message.result or "")


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())
