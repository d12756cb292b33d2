"""The arguments of one call: checked against the schema, and their canonical form."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from dexbridge.toolsource.errors import InvalidArguments
from dexbridge.toolsource.numbers import number_faults

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

__all__ = ["canonical_json", "check_arguments", "fingerprint"]


_LONGEST_FAULT = 400


def canonical_json(arguments: Mapping[str, Any]) -> str:
    """One text per set of arguments: sorted keys, no spaces, NaN refused."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def fingerprint(arguments: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical arguments in hexadecimal; an approval is bound to it."""
    return hashlib.sha256(canonical_json(arguments).encode("utf-8", "surrogatepass")).hexdigest()


def check_arguments(tool_name: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments when they fit the schema.

    A property the top level does not name is a fault unless the schema itself allows more
    (`additionalProperties`): a model that invents an argument expects something of it. For numbers see
    `number_faults`.

    Raises:
        InvalidArguments: With every fault at once.
    """
    if faults := sorted(_not_json(arguments, "")):
        raise InvalidArguments(tool_name, faults)
    from jsonschema import Draft202012Validator  # noqa: PLC0415  (as in schema.py)

    strict = {"additionalProperties": False, **schema}
    errors = Draft202012Validator(strict).iter_errors(dict(arguments))  # pyright: ignore[reportUnknownMemberType]
    if faults := sorted([*_faults(errors), *number_faults(schema, arguments)]):
        raise InvalidArguments(tool_name, faults)
    return dict(arguments)


def _faults(errors: Iterator[ValidationError]) -> Iterator[str]:
    for error in errors:
        where = ".".join(str(part) for part in error.absolute_path)
        match error.validator:
            case "required":
                present = cast("Mapping[str, Any]", error.instance)
                required = cast("list[str]", error.validator_value)
                # jsonschema reports one error per missing name; the message's quotes are no stable place to read it.
                missing = next(name for name in required if name not in present and f"{name!r}" in error.message)
                yield f"{_join(where, missing)}: missing, it is required"
            case "additionalProperties":
                known = cast("Mapping[str, Any]", error.schema).get("properties", {})
                names = ", ".join(known) or "none"
                patterns = cast("Mapping[str, Any]", error.schema).get("patternProperties", {})
                for name in cast("Mapping[str, Any]", error.instance):
                    if name not in known and not any(re.search(pattern, name) for pattern in patterns):
                        yield f"{_join(where, name)}: unknown argument, leave it out (known: {names})"
            case "type":
                yield f"{where or 'arguments'}: {_type_fault(error)}"
            case _:
                yield f"{where or 'arguments'}: {_bounded(error.message)}"


def _not_json(value: object, where: str) -> Iterator[str]:
    """What could be neither stored nor sent, wherever it stands."""
    match value:
        case None | bool() | int():
            return
        case float():
            if not math.isfinite(value):
                yield f"{where}: must be a finite number"
        case str():
            if not _is_text(value):
                yield f"{where}: holds half of a surrogate pair, send plain text"
        case list():
            for number, item in enumerate(cast("list[object]", value)):
                yield from _not_json(item, _join(where, str(number)))
        case Mapping():
            for name, item in cast("Mapping[object, object]", value).items():
                if not isinstance(name, str) or not _is_text(name):
                    yield f"{where or 'arguments'}: every name must be plain text"
                else:
                    yield from _not_json(item, _join(where, name))
        case _:
            yield f"{where}: must be a JSON value, not {type(value).__name__}"


def _is_text(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _bounded(message: str) -> str:
    # A message of jsonschema quotes the value, however long it is.
    return (
        message
        if len(message) <= _LONGEST_FAULT
        else f"{message[: _LONGEST_FAULT // 2]} … {message[-_LONGEST_FAULT // 2 :]}"
    )


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _type_fault(error: ValidationError) -> str:
    expected = cast("Any", error.validator_value)
    wanted = " or ".join(cast("list[str]", expected)) if isinstance(expected, list) else str(expected)
    given = error.instance
    if given is None and ("integer" in wanted or "number" in wanted):
        return f"must be {_article(wanted)}, not null, as which a number beyond 1.8e308 arrives too"
    if isinstance(given, str) and ("object" in wanted or "array" in wanted):
        return f"must be {_article(wanted)}, not a string that holds JSON: pass the value itself"
    return f"must be {_article(wanted)}, not {_json_type(given)}"


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _json_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
