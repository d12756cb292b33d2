"""The input schema of an application's own tool, in each form the SDK's decorator takes (case C12)."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, tool
from typing_extensions import TypedDict

from dexbridge.claude import ClaudeAgentOptionsContext, claude_agent_session_flow
from dexbridge.claude.function_tool import function_tools
from dexbridge.toolsource import InvalidToolDefinition

ORDER = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


class Order(TypedDict):
    id: str


class Odd(TypedDict):
    id: Nowhere  # pyright: ignore[reportUndefinedVariable]  # noqa: F821


def declared(schema: Any) -> Any:
    async def look_up(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(arguments)}]}

    return tool("look_up_order", "Looks up one order.", schema)(look_up)


def schema_of(schema: Any) -> dict[str, Any]:
    (made,) = function_tools([declared(schema)], {})
    return dict(made.input_schema)


@pytest.mark.parametrize(
    "schema",
    [
        ORDER,
        {**ORDER, "type": ["object"]},
        {"$ref": "#/$defs/Order", "$defs": {"Order": ORDER}},
        {"$ref": "#/definitions/Order", "definitions": {"Order": {**ORDER, "type": ["object"]}}},
        {"$defs": {"Id": {"type": "string"}}, **ORDER, "properties": {"id": {"$ref": "#/$defs/Id"}}},
    ],
)
def test_a_json_schema_of_an_object_is_taken_however_it_is_written(schema: dict[str, Any]) -> None:
    assert schema_of(schema) == ORDER


def test_a_literal_that_looks_like_a_reference_is_data() -> None:
    literal = {"$ref": "#/nowhere"}
    properties = {"link": {"const": literal, "default": literal, "enum": [literal], "examples": [literal]}}
    assert schema_of({"type": "object", "properties": properties}) == {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "schema",
    [
        {"id": str},
        {"id": "str"},
        {"id": Annotated[str, "Which"]},
        {"type": str},
        {"title": "str"},
        {"_id": str},
        {"json": str},
    ],
)
def test_names_with_types_are_still_names_with_types(schema: dict[str, Any]) -> None:
    made = schema_of(schema)
    (name,) = made["properties"]
    assert name == next(iter(schema))
    assert (made["type"], made["required"], made["properties"][name]["type"]) == ("object", [name], "string")


def test_a_typed_dict_is_taken() -> None:
    made = schema_of(Order)
    assert (made["type"], made["required"], made["properties"]["id"]["type"]) == ("object", ["id"], "string")


@pytest.mark.parametrize(
    ("schema", "mend"),
    [
        ({"$ref": "#/$defs/Missing", "$defs": {}}, "which it does not define"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "refers to itself"),
        ({"$ref": "#/$defs/Name", "$defs": {"Name": {"type": "string"}}}, 'must have "type": "object"'),
        ({"type": ["object", "null"]}, 'must have "type": "object"'),
        ({"type": ["text"]}, "is not a JSON Schema"),
        ({"type": 3}, "is not a JSON Schema"),
        ({"properties": {"id": {"type": "string"}}}, 'must have "type": "object"'),
        ({"anyOf": [ORDER]}, "'anyOf' at its top level"),
        ({"type": "object", "properties": {"id": str}}, "holds what is no JSON"),
        ({"id": object()}, "Name types such as str"),
        ({"id": "no such type"}, "Name types such as str"),
        ({"id": "NoSuchType"}, "Name types such as str"),
        ({"$id": str}, "holds what is no JSON"),
        ({1: str}, "Name types such as str"),
        (Odd, "Name types such as str"),
        (str, "must be a JSON Schema, a mapping of names to types or a TypedDict"),
        (None, "must be a JSON Schema, a mapping of names to types or a TypedDict"),
    ],
)
def test_what_cannot_be_offered_is_refused_when_the_flow_is_made(schema: Any, mend: str) -> None:
    def build(_context: ClaudeAgentOptionsContext) -> ClaudeAgentOptions:
        raise AssertionError

    with pytest.raises(InvalidToolDefinition, match="The input schema of 'look_up_order'") as refused:
        claude_agent_session_flow(build, [declared(schema)], flow_type="Orders")
    assert mend in str(refused.value)
    assert "\n" not in str(refused.value)
