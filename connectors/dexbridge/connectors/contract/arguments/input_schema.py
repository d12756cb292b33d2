"""An operation's arguments: their JSON schema for the model, and their check."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from dexbridge.connectors.contract.arguments.input_rules import models_in
from dexbridge.connectors.contract.arguments.unseen import is_blank
from dexbridge.connectors.contract.errors import InvalidInput, InvalidOperation

InputModel = TypeVar("InputModel", bound=BaseModel)


class OperationInput(BaseModel):
    """Base of every operation's input: frozen, strict, no unknown fields, values never echoed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class OperationOutput(BaseModel):
    """Base of every operation's output: frozen, no unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


@dataclass(frozen=True)
class Advice:
    """What to do when a field is wrong: `Annotated[str, Field(pattern=...), Advice("copy it from ...")]`."""

    text: str


def _refuse_blank(text: str) -> str:
    if is_blank(text):
        raise PydanticCustomError("blank", "must not be blank")
    return text


NotBlank: Final = AfterValidator(_refuse_blank)
"""Refuses a text that shows nothing: `Annotated[str, Field(min_length=1), NotBlank]`. See `is_blank`."""


def input_schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of an input model in the form agent frameworks take.

    An object with `additionalProperties: false`, without `$ref`, `$defs`, titles or combinators at its top.

    Raises:
        InvalidOperation: a type in it holds itself, so its schema has no end.
    """
    schema = model.model_json_schema()
    definitions = cast(dict[str, Any], schema.pop("$defs", {}))
    plain = cast(dict[str, Any], _inline(schema, definitions))
    plain.pop("description", None)  # the model reads the operation's description, not a class's docstring
    plain.setdefault("properties", {})
    plain["additionalProperties"] = False
    return plain


_DATA: Final = frozenset({"default", "const", "enum", "examples"})
"""Keywords whose values are data, not schemas."""


def _inline(node: Any, definitions: Mapping[str, Any], inside: tuple[str, ...] = ()) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions, inside) for item in cast(list[Any], node)]
    if not isinstance(node, dict):
        return node
    mapping = cast(dict[str, Any], node)
    if "$ref" in mapping:
        name = str(mapping["$ref"]).rsplit("/", 1)[1]
        if name in inside:
            raise InvalidOperation(f"{name} holds itself, and agents take no schema without an end; bound its depth.")
        siblings = {key: value for key, value in mapping.items() if key != "$ref"}
        return _inline({**copy.deepcopy(definitions[name]), **siblings}, definitions, (*inside, name))
    result: dict[str, Any] = {}
    for key, value in mapping.items():
        if key == "discriminator" or (key == "title" and isinstance(value, str)):
            continue  # a discriminator is not JSON Schema, and its mapping refers to $defs
        if key == "properties" and isinstance(value, dict):
            properties = cast(dict[str, Any], value)
            result[key] = {name: _inline(field, definitions, inside) for name, field in properties.items()}
        elif key in _DATA:
            result[key] = value
        else:
            result[key] = _inline(value, definitions, inside)
    return result


def parse_input(operation: str, model: type[InputModel], arguments: Mapping[str, Any]) -> InputModel:
    """Checks arguments as JSON, so a stored copy and the model's own text are judged alike.

    Raises:
        InvalidInput: names every fault at once.
    """
    try:
        text = json.dumps(dict(arguments), allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidInput(operation, ("arguments: must be a JSON object; send plain JSON values",)) from None
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=True, include_input=True)
    raise InvalidInput(operation, tuple(dict.fromkeys(_fault(model, detail) for detail in details)))


_JSON_NAMES: Final[Mapping[type, str]] = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


def _fault(model: type[BaseModel], detail: ErrorDetails) -> str:
    location = detail["loc"]
    text = _what_is_wrong(detail)
    if not location:
        # A check of the whole input may name the field itself: "reply_timestamp: must differ ...".
        name, colon, rest = text.partition(":")
        known = _names(model)
        if not colon or name not in {*known, *known.values()}:
            return f"arguments: {text}"
        return f"{known.get(name, name)}:{rest}"
    advice = _advice(model, location)
    name = ".".join(str(part) for part in location)
    return f"{name}: {text}{'; ' + advice if advice else ''}"


def _names(model: type[BaseModel]) -> dict[str, str]:
    """Each field's name in Python, with the name it has in the arguments."""
    return {name: info.alias or name for name, info in model.model_fields.items()}


def _advice(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """The advice of the innermost field that has some, or the names to choose from where there is no such field."""
    advice, models = "", (model,)
    for part in location:
        fields = {(info.alias or name): info for one in models for name, info in one.model_fields.items()}
        info = fields.get(str(part))
        if info is not None:
            own = "; ".join(item.text for item in info.metadata if isinstance(item, Advice))
            advice, models = own or advice, models_in(info.annotation)
        elif part is location[0]:
            return f"the arguments are: {', '.join(fields)}"
    return advice


def _what_is_wrong(detail: ErrorDetails) -> str:
    kind, given = detail["type"], cast(object, detail["input"])
    text = detail["msg"].removeprefix("Value error, ")
    if kind == "string_type":
        text = f"must be a string in quotes, not {_JSON_NAMES.get(type(given), 'something else')}"
    elif kind in {"string_too_short", "string_pattern_mismatch"} and isinstance(given, str):
        text = "must not be blank" if is_blank(given) else "does not have the right form"
    elif kind == "string_too_long" and isinstance(given, str):
        limit: int = detail.get("ctx", {})["max_length"]
        text = f"is {len(given):,} characters long, the limit is {limit:,}"
    elif kind in _PLAIN:
        text = _PLAIN[kind]
    return text


_PLAIN: Final[Mapping[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is not an argument of this operation, leave it out",
    "json_invalid": "hold text that is not valid Unicode; send plain text",
}
