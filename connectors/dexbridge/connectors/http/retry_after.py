"""The wait a provider asks for in a Retry-After header, and the dates of HTTP."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Final

LONGEST_DELAY: Final = timedelta(hours=1)
"""No wait beyond this is taken from a provider ("Retry-After", dex-contract.md)."""

_SECONDS: Final = re.compile(r"([0-9]{1,9})(\.[0-9]{1,9})?")
"""Some proxies send a fraction, which RFC 9110 does not know."""


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> timedelta | None:
    """The wait in a Retry-After value: seconds (a fraction is rounded up) or an HTTP date, at most one hour.

    None for an absent, malformed, zero or past value: the operation's own policy applies.
    """
    if value is None:
        return None
    text = value.strip()
    if seconds := _SECONDS.fullmatch(text):
        delay = timedelta(seconds=ceil(float(seconds[0])))
    else:
        until = parse_http_date(text)
        if until is None:
            return None
        delay = until - (now or datetime.now(UTC))
    return min(delay, LONGEST_DELAY) if delay > timedelta(0) else None


def parse_http_date(value: str | None) -> datetime | None:
    """An HTTP date as an aware instant; one without a zone is UTC. None for an absent or malformed one."""
    try:
        date = parsedate_to_datetime(value or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.utcoffset() is not None else date.replace(tzinfo=UTC)
