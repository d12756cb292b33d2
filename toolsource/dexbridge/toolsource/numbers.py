"""Numbers on their way through the CLI, which is JavaScript: it holds whole ones up to 2^53 - 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

__all__ = ["GREATEST_NUMBER", "number_faults", "numbers_in"]

GREATEST_NUMBER = 2**53 - 1
"""The greatest whole number that JavaScript tells apart from its neighbours."""


def number_faults(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[str]:
    """A fault for each number beyond 2^53 - 1 in magnitude, wherever it stands.

    Such a number arrives rounded, and nothing here can tell what the model wrote. Where the schema takes a string too
    the fault says to pass one.
    """
    for place, value in numbers_in(arguments):
        if abs(value) > GREATEST_NUMBER:
            mend = (
                "pass it as a string"
                if _takes_text(schema, place)
                else "no string is taken here either, so say that it cannot be done"
            )
            yield f"{'.'.join(place)}: {value} may have been rounded, as all beyond {GREATEST_NUMBER}: {mend}"


def numbers_in(value: object, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int | float]]:
    """Every number of a JSON value, with its place."""
    match value:
        case bool():
            return
        case int() | float():
            yield place, value
        case list():
            for number, item in enumerate(cast("list[object]", value)):
                yield from numbers_in(item, (*place, str(number)))
        case Mapping():
            for name, item in cast("Mapping[object, object]", value).items():
                yield from numbers_in(item, (*place, str(name)))
        case _:
            return


def _takes_text(schema: Any, place: tuple[str, ...]) -> bool:
    """Whether a string may stand there; where the schema is not simple enough to tell, it may."""
    if not isinstance(schema, Mapping):
        return True
    known = cast("Mapping[str, Any]", schema)
    for choice in ("anyOf", "oneOf"):
        if choice in known:
            return any(_takes_text(option, place) for option in cast("list[Any]", known[choice]))
    if place:
        named = cast("Mapping[str, Any]", known.get("properties") or {})
        inner = named.get(place[0], known.get("items", known.get("additionalProperties")))
        return _takes_text(inner, place[1:])
    kinds = known.get("type", "string")
    return kinds == "string" or (isinstance(kinds, list) and "string" in kinds)
