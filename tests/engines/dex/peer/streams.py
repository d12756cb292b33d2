"""Streams: best-effort logs beside a Flow."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from contextlib import suppress

from dex.dexpb import dex_pb2 as pb
from google.protobuf.timestamp_pb2 import Timestamp

__all__ = ["Streams"]

Key = tuple[str, str, str]


class Streams:
    """Messages by Flow and Stream; nothing is trimmed here."""

    def __init__(self) -> None:
        self._messages: defaultdict[Key, list[pb.StreamMessage]] = defaultdict(list)
        self._written = asyncio.Condition()

    def write(self, flow_id: str, flow_type: str, name: str, value: pb.Value, source: str) -> None:
        messages = self._messages[flow_id, flow_type, name]
        created = Timestamp(seconds=int(time.time()))
        messages.append(
            pb.StreamMessage(value=value, resume_token=str(len(messages) + 1), created_time=created, source=source)
        )
        self._tell = asyncio.ensure_future(self._announce())

    async def read(self, request: pb.ReadStreamRequest) -> pb.StreamMessage | None:
        """The message after a token; `None` when none came in time."""
        messages = self._messages[request.flow_id, request.flow_type, request.stream_name]
        place = int(request.resume_token or 0)
        with suppress(TimeoutError):
            async with asyncio.timeout(request.wait_time_seconds), self._written:
                await self._written.wait_for(lambda: len(messages) > place)
        return messages[place] if len(messages) > place else None

    def newest(self, request: pb.ListStreamMessagesRequest) -> list[pb.StreamMessage]:
        messages = self._messages[request.flow_id, request.flow_type, request.stream_name]
        return messages[::-1][: request.page_size]

    async def _announce(self) -> None:
        async with self._written:
            self._written.notify_all()
