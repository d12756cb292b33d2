"""What becomes of a tool between its definition and the model: the CLI and the Messages API change or refuse parts.

Measured on Claude Code 2.1.332, in the body of the request to the model. In what a server lists (descriptions and
schemas) the CLI puts every text into Unicode's form NFKC and leaves out characters without a shape of their own; of a
description it passes on 4,096 UTF-16 units; numbers are those of JavaScript. Texts of calls and results it leaves
alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, cast

from dexbridge.toolsource.errors import InvalidToolDefinition
from dexbridge.toolsource.numbers import GREATEST_NUMBER, numbers_in
from dexbridge.toolsource.schema import subschemas

__all__ = ["check_description", "check_listed_schema"]

_LONGEST_DESCRIPTION = 4096
_PARAMETER = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_DROPPED = frozenset({"Cf", "Co", "Cs"})
_COMPARED = ("enum", "const", "pattern")
_SHOWN = 80


def check_description(tool_name: str, description: object) -> None:
    """Refuses a description the model would not get whole.

    Raises:
        InvalidToolDefinition: It is no text, or longer than 4,096 UTF-16 units as the CLI counts.
    """
    if not isinstance(description, str):
        raise InvalidToolDefinition(
            f"The description of the tool {tool_name!r} must be a text, not {type(description).__name__}."
        )
    length = len(_listed(description).encode("utf-16-le", "surrogatepass")) // 2
    if length > _LONGEST_DESCRIPTION:
        raise InvalidToolDefinition(
            f"The description of the tool {tool_name!r} is {length:,} characters long, of which the Claude Code CLI "
            f"passes on the first {_LONGEST_DESCRIPTION:,}: shorten it, or move what belongs to one parameter into "
            "the description of that parameter, which is not cut."
        )


def check_listed_schema(tool_name: str, schema: Mapping[str, Any]) -> None:
    """Refuses names of parameters that the Messages API refuses, and what the model would be told otherwise.

    The API looks at the names of the top level only. Source: its error "Property keys should match pattern
    '^[a-zA-Z0-9_.-]{1,64}$'", which fails every request that offers the tool.

    Args:
        tool_name: Named in the error.
        schema: As `prepare_input_schema` makes it, without `$ref`.

    Raises:
        InvalidToolDefinition: Names every such place.
    """
    faults = [*_refused_names(schema), *_told_otherwise(schema)]
    if faults:
        raise InvalidToolDefinition(f"The input schema of {tool_name!r} cannot be offered: {'; '.join(faults)}.")


def _refused_names(schema: Mapping[str, Any]) -> Iterator[str]:
    wrong = [name for name in cast("Mapping[str, Any]", schema["properties"]) if not _PARAMETER.fullmatch(name)]
    if wrong:
        yield (
            f"the Messages API refuses every request with a parameter called {', '.join(map(_shown, wrong))}; a name "
            "is 1 to 64 of the characters a-z, A-Z, 0-9, '_', '.' and '-' (of a pydantic field, its alias): rename it"
        )


def _told_otherwise(schema: Mapping[str, Any]) -> Iterator[str]:
    for where, node in subschemas(schema):
        at = f" at {where}" if where else ""
        for keyword in ("properties", "patternProperties"):
            for name in cast("Mapping[str, Any]", node.get(keyword) or {}):
                if name == "__proto__":
                    yield f"the Claude Code CLI drops the parameter '__proto__'{at}: rename it"
                elif _listed(name) != name and not (keyword == "properties" and not where):
                    yield f"the Claude Code CLI would offer {_shown(name)}{at} as {_shown(_listed(name))}: rename it"
        for keyword in _COMPARED:
            for text in _texts(node.get(keyword)):
                if _listed(text) != text:
                    yield (
                        f"the Claude Code CLI would offer {_shown(text)} in {keyword!r}{at} as "
                        f"{_shown(_listed(text))}: use plain characters in form NFKC"
                    )
        for keyword in ("enum", "const", "default"):
            for _, number in numbers_in(node.get(keyword)):
                if abs(number) > GREATEST_NUMBER:
                    yield f"{number} in {keyword!r}{at} is beyond {GREATEST_NUMBER} and would be rounded: use a string"


def _listed(text: str) -> str:
    """The text as the CLI lists it; characters that Python's Unicode does not know yet are taken to stay."""
    while True:
        listed = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) not in _DROPPED)
        if listed == text:
            return listed
        text = listed


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in cast("list[Any]", value):
                yield from _texts(item)
        case dict():
            for name, item in cast("dict[str, Any]", value).items():
                yield name
                yield from _texts(item)
        case _:
            return


def _shown(text: str) -> str:
    # In ASCII: what cannot be seen is often what is wrong.
    shown = ascii(text) if _listed(text) != text else repr(text)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 20]}…' ({len(text)} characters)"
