"""What of a configuration may be printed."""

from __future__ import annotations

import re
from typing import Any, Final

from dexbridge.config.reading.shapes import is_list, is_object
from dexbridge.config.telling.finding import harmless

_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.\[\]:-]{1,80}(?:/[A-Za-z0-9_-]{1,12}){0,4}/?")
_HIDDEN: Final = "***"


def redacted(value: object) -> Any:
    """The value with every text hidden that is not surely harmless: a short plain word, or an address.

    A configuration holds no credential, but people paste one into the wrong place.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if harmless(value) or (_ADDRESS.fullmatch(value) and not _hides(value)) else _HIDDEN
    if is_object(value):
        return {key if harmless(key) else _HIDDEN: redacted(inner) for key, inner in value.items()}
    if is_list(value):
        return [redacted(inner) for inner in value]
    return _HIDDEN


def _hides(address: str) -> bool:
    _, _, path = address.partition("//")[2].partition("/")
    return any(not harmless(part) for part in path.split("/") if part)
