"""The one JSON form of an operation's arguments: what is shown, approved, recorded, and read again before the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, RootModel

from dexbridge.connectors.contract.arguments.input_schema import InputModel, parse_input
from dexbridge.connectors.contract.errors import InvalidInput


def canonical_arguments(parsed: BaseModel) -> dict[str, Any]:
    """The canonical form of checked arguments: defaults filled in, and null left out where it is the default."""
    written = parsed.model_dump(mode="json", by_alias=True, warnings="none")
    return _without_empty(parsed, written)


def hold_arguments(operation: str, model: type[InputModel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Checks arguments and returns their canonical form.

    Raises:
        InvalidInput: names every fault at once; also when the canonical form does not read as the same arguments, so
            that nobody is asked to approve what could not be sent, or what would be sent as something else.
    """
    parsed = parse_input(operation, model, arguments)
    try:
        canonical = canonical_arguments(parsed)
        again = parse_input(operation, model, canonical)
    except Exception:  # noqa: BLE001  (an author's serializer may raise anything)
        raise InvalidInput(operation, (f"arguments: {CHANGED}",)) from None
    if again == parsed:
        return canonical
    changed = [
        info.alias or name
        for name, info in model.model_fields.items()
        if getattr(again, name, None) != getattr(parsed, name, None)
    ]
    raise InvalidInput(operation, tuple(f"{name}: {CHANGED}" for name in changed or ["arguments"]))


CHANGED = (
    "would not be the same when the recorded call is read again, so it cannot be approved; leave out what is not "
    "required, and tell whoever runs the agent that the Connector has to be mended"
)


def _without_empty(value: object, written: Any) -> Any:
    """What was written of a value, without the nulls of fields that are null by default."""
    if isinstance(value, RootModel):
        return _without_empty(cast("RootModel[Any]", value).root, written)
    if isinstance(value, BaseModel) and isinstance(written, dict):
        members = cast(dict[str, object], written)
        empty = {info.serialization_alias or name: name for name, info in type(value).model_fields.items()}
        kept: dict[str, object] = {}
        for key, member in members.items():
            name = empty.get(key)
            if name is None:
                kept[key] = member
            elif member is not None or not _is_null_by_default(value, name):
                kept[key] = _without_empty(getattr(value, name), member)
        return kept
    if isinstance(value, Mapping) and isinstance(written, dict):
        held = cast(Mapping[object, object], value)
        members = cast(dict[str, object], written)
        if len(held) == len(members):
            pairs = zip(held.values(), members.items(), strict=True)
            return {key: _without_empty(one, member) for one, (key, member) in pairs}
    elif isinstance(value, list | tuple) and isinstance(written, list):
        items = cast(Sequence[object], value)
        rows = cast(list[object], written)
        if len(items) == len(rows):
            return [_without_empty(one, row) for one, row in zip(items, rows, strict=True)]
    return cast(Any, written)


def _is_null_by_default(value: BaseModel, name: str) -> bool:
    info = type(value).model_fields[name]
    return info.default is None and info.default_factory is None
