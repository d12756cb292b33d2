"""How long a database that is away is waited for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
    wait_random_exponential,
)

from dexbridge.sessions.errors import DatabaseUnavailable

__all__ = ["for_seconds", "until_back"]

T = TypeVar("T")

_LONGEST_PAUSE_SECONDS = 3


async def for_seconds(work: Callable[[], Awaitable[T]]) -> T:
    """Does work on the database that may be done twice, again for about 8 s when it is away."""
    async for attempt in AsyncRetrying(
        retry=retry_if_exception_type(DatabaseUnavailable),
        stop=stop_after_attempt(5),
        wait=wait_exponential(multiplier=0.5, max=5),
        reraise=True,
    ):
        with attempt:
            return await work()
    raise AssertionError("the loop above returns or raises")


async def until_back(work: Callable[[], Awaitable[T]]) -> T:
    """Does work on the database that may be done twice, again until it was done, however long the database is away."""
    async for attempt in AsyncRetrying(
        retry=retry_if_exception_type(DatabaseUnavailable),
        wait=wait_random_exponential(multiplier=0.5, max=_LONGEST_PAUSE_SECONDS),
        reraise=True,
    ):
        with attempt:
            return await work()
    raise AssertionError("the loop above returns or raises")
