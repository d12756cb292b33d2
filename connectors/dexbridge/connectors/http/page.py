"""Page: the objects of one answer of a provider, without those that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

Raw: TypeAlias = Mapping[str, Any]
"""An object as the provider sends it."""


@dataclass(frozen=True)
class Page:
    """What can be read of one page, in its order, and how many objects cannot be: each may be the one looked for."""

    objects: tuple[Raw, ...]
    unreadable: int = 0


def page_of(listed: object, readable: Callable[[Raw], bool]) -> Page | None:
    """The page in a JSON value; None when it is no list, or nothing in it can be read though something is there."""
    if not isinstance(listed, list):
        return None
    items = cast(list[object], listed)
    objects = tuple(raw for item in items if isinstance(item, dict) and readable(raw := cast(Raw, item)))
    return None if items and not objects else Page(objects, len(items) - len(objects))
