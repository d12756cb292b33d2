"""The arguments of one call: checked against the schema, and their canonical form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from dexbridge.toolsource.errors import InvalidArguments

__all__ = ["canonical_json", "check_arguments", "fingerprint"]


def canonical_json(arguments: Mapping[str, Any]) -> str:
    """One text per set of arguments: sorted keys, no spaces, NaN refused."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def fingerprint(arguments: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical arguments in hexadecimal; an approval is bound to it."""
    return hashlib.sha256(canonical_json(arguments).encode("utf-8", "surrogatepass")).hexdigest()


def check_arguments(tool_name: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments when they fit the schema.

    A property the schema does not name is a fault unless the schema itself allows more
    (`additionalProperties`): a model that invents an argument expects something of it.

    Raises:
        InvalidArguments: With every fault at once.
    """
    strict = {"additionalProperties": False, **schema}
    faults = sorted(_faults(Draft202012Validator(strict).iter_errors(dict(arguments))))  # pyright: ignore[reportUnknownMemberType]
    if faults:
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
                for name in cast("Mapping[str, Any]", error.instance):
                    if name not in known:
                        yield f"{_join(where, name)}: unknown argument, leave it out (known: {names})"
            case "type":
                yield f"{where or 'arguments'}: {_type_fault(error)}"
            case _:
                yield f"{where or 'arguments'}: {error.message}"


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _type_fault(error: ValidationError) -> str:
    expected = cast("Any", error.validator_value)
    wanted = " or ".join(cast("list[str]", expected)) if isinstance(expected, list) else str(expected)
    given = error.instance
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
