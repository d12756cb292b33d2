"""Text from outside that must become storable before it is committed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["storable_json", "storable_text"]


def storable_text(text: str) -> str:
    """Returns the text with each half of a surrogate pair replaced by U+FFFD; such a half has no UTF-8 form."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def storable_json(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns a copy of a JSON object, or `None` when it is none (NaN, foreign types, half surrogates)."""
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        return None
    return json.loads(text)
