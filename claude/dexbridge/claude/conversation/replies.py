"""The replies of the model as they stream by: which calls each holds, and when it is whole."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["StreamedReplies"]


@dataclass(slots=True)
class _Reply:
    calls: list[str] = field(default_factory=list[str])
    whole: bool = False
    refused: bool = False


class StreamedReplies:
    """Follows the partial messages of the main conversation.

    The hook of a call is asked while its reply still streams. Whether the call is the reply's only one is known when
    the reply is whole.
    """

    def __init__(self) -> None:
        self._replies: list[_Reply] = []
        self._changed = asyncio.Condition()

    async def hear(self, event: Mapping[str, Any]) -> None:
        """Takes one event of the Messages API's stream."""
        match event:
            case {"type": "message_start"}:
                self._replies = [*self._replies[-3:], _Reply()]
            case {"type": "content_block_start", "content_block": {"type": "tool_use", "id": str(identity)}}:
                if self._replies:
                    self._replies[-1].calls.append(identity)
            case {"type": "message_delta", "delta": {"stop_reason": "refusal"}}:
                if self._replies:
                    self._replies[-1].refused = True
            case {"type": "message_stop"}:
                if self._replies:
                    self._replies[-1].whole = True
            case _:
                return
        async with self._changed:
            self._changed.notify_all()

    def count(self, tool_use_id: str) -> int:
        """How many calls of the last replies have that ID."""
        return sum(reply.calls.count(tool_use_id) for reply in self._replies)

    async def is_in_another(self, tool_use_id: str, call: str, seconds: float) -> bool:
        """Waits until that call is heard of; whether its reply does not hold the other. `False` past the time."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: self._with(tool_use_id) is not None)
        except TimeoutError:
            return False
        found = self._with(tool_use_id)
        return found is not None and call not in found.calls

    async def is_only_call(self, tool_use_id: str, seconds: float) -> bool:
        """Waits until the reply with that call is whole; whether it holds no other call. `False` past the time.

        In a reply the API stopped as a refusal it is none: the CLI does not run the calls of such a reply.
        """
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: self._whole_with(tool_use_id) is not None)
        except TimeoutError:
            return False
        found = self._whole_with(tool_use_id)
        return found is not None and found.calls == [tool_use_id] and not found.refused

    def _with(self, tool_use_id: str) -> _Reply | None:
        return next((reply for reply in reversed(self._replies) if tool_use_id in reply.calls), None)

    def _whole_with(self, tool_use_id: str) -> _Reply | None:
        return next((reply for reply in self._replies if reply.whole and tool_use_id in reply.calls), None)
