"""How what looks at the database ends: a thread that reads cannot be cancelled, and what it uses must not be closed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

__all__ = ["ended"]

_LONGEST_SECONDS = 5.0


async def ended(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Waits for tasks that have been told to end; cancels those that do not, as when the database is away."""
    if not tasks:
        return
    _, left = await asyncio.wait(tasks, timeout=_LONGEST_SECONDS)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
