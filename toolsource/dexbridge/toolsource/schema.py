"""The input schema a model can be given: one plain object, every reference inlined."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

from dexbridge.toolsource.errors import InvalidToolDefinition

__all__ = ["prepare_input_schema", "subschemas"]

_COMBINATORS = ("anyOf", "oneOf", "allOf", "not", "if", "enum", "const")
_DEFINITIONS = ("$defs", "definitions")

# Where a schema holds schemas (JSON Schema 2020-12, and the older keywords the validator still reads). All else is
# data: a "$ref" in a const, an enum, a default or an example is no reference.
_SCHEMAS = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
        *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
_LISTS_OF_SCHEMAS = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_NAMED_SCHEMAS = frozenset({*_DEFINITIONS, "dependencies", "dependentSchemas", "patternProperties", "properties"})


def prepare_input_schema(tool_name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema with local `$ref`s inlined and definitions dropped.

    Args:
        tool_name: Named in the errors.
        schema: A JSON Schema (2020-12) whose top level describes an object.

    Raises:
        InvalidToolDefinition: The schema is not valid, its top level is not an object or has a combinator (the
            Messages API refuses it), or a `$ref` is remote, missing or recursive.
    """
    # Here, for it costs as much to import as the whole rest of the room, and only who offers a tool needs it.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415

    try:
        json.dumps(dict(schema), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidToolDefinition(
            f"The input schema of {tool_name!r} holds what is no JSON: {error}. Write names, numbers, texts, lists and "
            "objects only."
        ) from None
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path) or "the top level"
        raise InvalidToolDefinition(
            f"The input schema of {tool_name!r} is not a JSON Schema, at {where}: {error.message}"
        ) from None
    top = {key: value for key, value in schema.items() if key not in _DEFINITIONS}
    plain = cast("dict[str, Any]", _inline(tool_name, top, schema, ()))
    for combinator in _COMBINATORS:
        if combinator in plain:
            raise InvalidToolDefinition(
                f"The input schema of {tool_name!r} has {combinator!r} at its top level, which the Messages API "
                "refuses: describe one object there and move the alternatives into a property."
            )
    if plain.get("type") == ["object"]:
        plain["type"] = "object"
    if plain.get("type") != "object":
        raise InvalidToolDefinition(
            f'The input schema of {tool_name!r} must have "type": "object" at its top level, not {plain.get("type")!r}.'
        )
    plain.setdefault("properties", {})
    return plain


def subschemas(node: Any, where: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A schema without `$ref` and every schema in it, each with its place: `properties/to/items`."""
    if not isinstance(node, dict):
        return
    members = cast("dict[str, Any]", node)
    yield where, members
    for keyword, value in members.items():
        place = f"{where}/{keyword}" if where else keyword
        if keyword in _NAMED_SCHEMAS and isinstance(value, dict):
            for name, schema in cast("dict[str, Any]", value).items():
                yield from subschemas(schema, f"{place}/{name}")
        elif keyword in _LISTS_OF_SCHEMAS and isinstance(value, list):
            for number, schema in enumerate(cast("list[Any]", value)):
                yield from subschemas(schema, f"{place}/{number}")
        elif keyword in _SCHEMAS:
            yield from subschemas(value, place)


def _inline(tool_name: str, node: Any, root: Mapping[str, Any], open_refs: tuple[str, ...]) -> Any:
    if not isinstance(node, dict):
        return node
    members = cast("dict[str, Any]", node)
    if isinstance(members.get("$dynamicRef"), str):
        raise InvalidToolDefinition(
            f"The input schema of {tool_name!r} uses $dynamicRef, which cannot be inlined: use $ref and $defs."
        )
    reference = members.get("$ref")
    if not isinstance(reference, str):
        return {key: _inline_under(tool_name, key, value, root, open_refs) for key, value in members.items()}
    if reference in open_refs:
        raise InvalidToolDefinition(
            f"The input schema of {tool_name!r} refers to itself by {reference!r}: give a tool's input a finite depth."
        )
    target = _resolve(tool_name, reference, root)
    beside = {key: value for key, value in members.items() if key != "$ref"}
    return _inline(tool_name, {**target, **beside}, root, (*open_refs, reference))


def _inline_under(tool_name: str, keyword: str, value: Any, root: Mapping[str, Any], open_refs: tuple[str, ...]) -> Any:
    if keyword in _NAMED_SCHEMAS and isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        return {name: _inline(tool_name, schema, root, open_refs) for name, schema in named.items()}
    if keyword in _LISTS_OF_SCHEMAS and isinstance(value, list):
        return [_inline(tool_name, schema, root, open_refs) for schema in cast("list[Any]", value)]
    return _inline(tool_name, value, root, open_refs) if keyword in _SCHEMAS else value


def _resolve(tool_name: str, reference: str, root: Mapping[str, Any]) -> dict[str, Any]:
    found: Any = root
    pointer = unquote(reference.removeprefix("#"))
    if not reference.startswith("#"):
        raise InvalidToolDefinition(
            f"The input schema of {tool_name!r} refers to {reference!r}, outside itself: define it under $defs."
        )
    if pointer and not pointer.startswith("/"):
        # An anchor, not a pointer: nothing here looks for it.
        found = None
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal() and int(key) < len(cast("list[Any]", found)):
            found = cast("list[Any]", found)[int(key)]
        else:
            found = cast("Mapping[str, Any]", found).get(key) if isinstance(found, Mapping) else None
    if not isinstance(found, dict):
        raise InvalidToolDefinition(
            f"The input schema of {tool_name!r} refers to {reference!r}, which it does not define."
        )
    return cast("dict[str, Any]", found)
