"""Events as people may see them: arguments that a record shows masked are masked in the log too, which is never edited.

A record keeps the fingerprint of the arguments as they were, so one that was masked is told by it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.event import EventKind, SessionEvent
from dexbridge.sessions.state.snapshot import SessionSnapshot
from dexbridge.toolsource import fingerprint

__all__ = ["as_shown", "is_masked"]


def is_masked(record: CallRecord) -> bool:
    """Whether the record shows other arguments than the call had, since those held a credential."""
    return fingerprint(record.arguments) != record.fingerprint


async def as_shown(
    events: AsyncIterator[SessionEvent], snapshot: Callable[[], Awaitable[SessionSnapshot]]
) -> AsyncGenerator[SessionEvent]:
    """The events, with the arguments of calls that waited for a person as the records show them at this time."""
    seen: SessionSnapshot | None = None
    try:
        async for event in events:
            if event.kind is not EventKind.INTERRUPT_OPENED:
                yield event
                continue
            if seen is None or seen.last_event < event.sequence:
                seen = await snapshot()
            yield _shown(event, seen)
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


def _shown(event: SessionEvent, seen: SessionSnapshot) -> SessionEvent:
    arguments: dict[str, Any] = event.data["arguments"]
    asked = fingerprint(arguments)
    for record in seen.calls:
        if record.fingerprint == asked and record.arguments != arguments:
            return event.model_copy(update={"data": {**event.data, "arguments": record.arguments}})
    return event
