"""One Flow on the peer: its Attributes, Channels, locks, counters and what is running."""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field

from dex.dexpb import dex_pb2 as pb

__all__ = ["FlowRun", "LockConflict"]


class LockConflict(Exception):
    """An Attribute lock is held."""


@dataclass
class FlowRun:
    """State as the server would keep it."""

    flow_id: str
    flow_type: str
    worker_target: pb.WorkerTarget
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    started: int = field(default_factory=lambda: int(time.time()))
    status: int = pb.FLOW_STATUS_RUNNING
    attributes: dict[str, pb.Value] = field(default_factory=dict[str, pb.Value])
    channels: defaultdict[str, deque[pb.ChannelMessage]] = field(default_factory=lambda: defaultdict(deque))
    executions: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    history: list[str] = field(default_factory=list[str])
    running: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    published: asyncio.Event = field(default_factory=asyncio.Event)
    _held: set[str] = field(default_factory=set[str])
    _message_ids: itertools.count[int] = field(default_factory=itertools.count)

    def next_execution(self, step_type: str) -> str:
        self.executions[step_type] += 1
        return f"{step_type}-{self.executions[step_type]}"

    def loaded(self, maps: Iterable[str]) -> list[pb.KV]:
        """All plain Attributes, and of the maps what was asked for: `name/` for a whole map."""
        wanted = list(maps)

        def is_loaded(key: str) -> bool:
            if "/" not in key:
                return True
            return key in wanted or f"{key.partition('/')[0]}/" in wanted

        return [pb.KV(key=key, value=value) for key, value in self.attributes.items() if is_loaded(key)]

    def channel_infos(self) -> dict[str, pb.ChannelInfo]:
        return {name: pb.ChannelInfo(size=len(messages)) for name, messages in self.channels.items() if messages}

    def write(self, attributes: Iterable[pb.AttributeWrite], published: Iterable[pb.ChannelMessage]) -> None:
        """Applies the writes of one result, at once."""
        for attribute in attributes:
            if attribute.value.WhichOneof("kind") == "null_value":
                self.attributes.pop(attribute.key, None)
            else:
                self.attributes[attribute.key] = attribute.value
        for message in published:
            kept = pb.ChannelMessage()
            kept.CopyFrom(message)
            kept.message_id = f"m-{next(self._message_ids)}"
            self.channels[message.channel_name].append(kept)
        self.published.set()

    @contextmanager
    def locked(self, keys: Iterable[str]) -> Generator[None]:
        """Holds those Attribute locks. Raises `LockConflict` at once when one is held, as Dex does."""
        wanted = set(keys)
        if held := wanted & self._held:
            raise LockConflict(", ".join(sorted(held)))
        self._held |= wanted
        try:
            yield
        finally:
            self._held -= wanted
