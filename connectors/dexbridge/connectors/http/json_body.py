"""The JSON of a provider's answer, read strictly: what can be read in two ways proves nothing."""

from __future__ import annotations

import json
from typing import Any


class Ambiguous(ValueError):
    """The body may be JSON, but not JSON that everybody reads alike."""


def read_json(body: bytes) -> Any:
    """The JSON value of a body.

    Raises:
        Ambiguous: it is not UTF-8, or an object in it names a key twice, so that two readers may differ on it.
        ValueError: it is not JSON.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise Ambiguous("not UTF-8") from None
    if "\0" in text:
        raise Ambiguous("not UTF-8")
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Ambiguous("a key is there twice")
    return found
