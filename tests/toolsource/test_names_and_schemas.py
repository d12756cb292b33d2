"""What can be offered at all: found when the tool is defined, not when the model is asked."""

from __future__ import annotations

from typing import Any

import pytest

from dexbridge.toolsource import (
    ConnectorToolSource,
    InvalidToolDefinition,
    OfferedTools,
    ToolEffect,
    ToolPolicy,
    check_tool_name,
    connector_tool,
    mcp_name,
    prepare_input_schema,
    short_name,
)
from tests.fakes.connector import bound_post
from tests.fakes.function_tool import FunctionTool

LONGEST = "x" * (64 - len("mcp__tools__"))


def test_names_go_both_ways() -> None:
    assert mcp_name("slack_post_thread_reply") == "mcp__tools__slack_post_thread_reply"
    for name in ("slack_post_thread_reply", "a", "mcp__tools__a", LONGEST):
        assert short_name(mcp_name(name)) == name
    for foreign in ("Bash", "mcp__other__a", "mcp__tools_", "mcp__tools__", ""):
        assert short_name(foreign) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (LONGEST + "x", "65 characters long"),
        ("slack.post", "only letters, digits"),
        ("", "only letters, digits"),
        ("größe", "only letters, digits"),
        ("a b", "only letters, digits"),
        ("a\n", "only letters, digits"),
    ],
)
def test_a_name_the_api_would_refuse_is_refused_by_name(name: str, reason: str) -> None:
    with pytest.raises(InvalidToolDefinition, match=reason) as refused:
        check_tool_name(name)
    assert repr(name) in str(refused.value)
    operation = bound_post()
    with pytest.raises(InvalidToolDefinition, match=reason):
        connector_tool(operation, operation.reference, name=name)


def test_the_longest_name_is_accepted() -> None:
    check_tool_name(LONGEST)
    assert len(mcp_name(LONGEST)) == 64


def test_tools_that_clash_after_snake_casing_are_refused() -> None:
    one, other = bound_post("one", operation_id="postLetter"), bound_post("two", operation_id="postLetter")
    source = ConnectorToolSource([connector_tool(one, one.reference), connector_tool(other, other.reference)])
    with pytest.raises(InvalidToolDefinition, match="Two tools are called 'mail_post_letter'") as refused:
        OfferedTools([], [source])
    assert "mail/one" in str(refused.value)
    assert "mail/two" in str(refused.value)
    with pytest.raises(InvalidToolDefinition, match="a function of the application"):
        OfferedTools(
            [FunctionTool(name="mail_post_letter")], [ConnectorToolSource([connector_tool(one, one.reference)])]
        )


def test_a_policy_names_a_tool() -> None:
    policy = ToolPolicy(ToolEffect.READ)
    with pytest.raises(InvalidToolDefinition, match="'mcp__tools__cancel_order'"):
        OfferedTools([FunctionTool()], [], {"mcp__tools__cancel_order": policy})


@pytest.mark.parametrize("combinator", ["anyOf", "oneOf", "allOf"])
def test_combinators_are_refused_at_the_top_and_kept_below(combinator: str) -> None:
    choice: dict[str, Any] = {combinator: [{"type": "object"}]}
    for schema in (
        {"type": "object", **choice},
        {"$ref": "#/$defs/C", "$defs": {"C": {"type": "object", **choice}}},
    ):
        with pytest.raises(InvalidToolDefinition, match=f"'post' has '{combinator}' at its top level"):
            prepare_input_schema("post", schema)
    below = {"type": "object", "properties": {"to": choice}}
    assert prepare_input_schema("post", below) == below


def test_references_are_inlined() -> None:
    schema = {
        "type": "object",
        "properties": {
            "to": {"$ref": "#/$defs/Person", "description": "Who"},
            "cc": {"type": "array", "items": {"$ref": "#/$defs/Person"}},
            "odd": {"$ref": "#/$defs/a~1b%20c"},
            "first": {"$ref": "#/$defs/Many/prefixItems/0"},
        },
        "$defs": {
            "Person": {"type": "object", "properties": {"name": {"$ref": "#/$defs/Name"}}},
            "Name": {"type": "string"},
            "a/b c": {"type": "integer"},
            "Many": {"type": "array", "prefixItems": [{"type": "boolean"}]},
            "Unused": {"$ref": "#/$defs/Unused"},
        },
    }
    person = {"type": "object", "properties": {"name": {"type": "string"}}}
    assert prepare_input_schema("post", schema) == {
        "type": "object",
        "properties": {
            "to": {**person, "description": "Who"},
            "cc": {"type": "array", "items": person},
            "odd": {"type": "integer"},
            "first": {"type": "boolean"},
        },
    }


REFERENCE = {"$ref": "#/nowhere"}


@pytest.mark.parametrize(
    "literal",
    [
        {"const": REFERENCE},
        {"default": REFERENCE},
        {"enum": [REFERENCE, {"deep": [REFERENCE]}]},
        {"examples": [REFERENCE, {"$dynamicRef": "#a"}]},
        {"x-of-our-own": REFERENCE},
    ],
)
def test_data_that_looks_like_a_reference_is_left_alone(literal: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"link": literal, "links": {"type": "array", "items": literal}}}
    assert prepare_input_schema("post", schema) == schema
    by_name = {"type": "object", "properties": {"link": {"$ref": "#/$defs/Link"}}, "$defs": {"Link": literal}}
    assert prepare_input_schema("post", by_name)["properties"] == {"link": literal}


def test_a_property_may_be_called_as_a_keyword_is() -> None:
    names = ["const", "default", "enum", "examples", "$ref", "properties", "items"]
    schema = {
        "type": "object",
        "properties": {name: {"$ref": "#/$defs/Name"} for name in names},
        "$defs": {"Name": {"type": "string"}},
    }
    assert prepare_input_schema("post", schema)["properties"] == {name: {"type": "string"} for name in names}


@pytest.mark.parametrize(
    "keyword",
    ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems"],
)
def test_references_are_inlined_under_every_keyword_that_takes_a_schema(keyword: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {keyword: {"$ref": "#/$defs/Name"}, "allOf": [{"$ref": "#/$defs/Name"}]}},
        "$defs": {"Name": {"type": "string"}},
    }
    inlined = {keyword: {"type": "string"}, "allOf": [{"type": "string"}]}
    assert prepare_input_schema("post", schema)["properties"] == {"a": inlined}


def test_a_list_with_one_type_is_that_type() -> None:
    assert prepare_input_schema("ping", {"type": ["object"]}) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("#/$defs/Tree", "refers to itself by '#/\\$defs/Tree'"),
        ("#", "refers to itself by '#'"),
        ("https://example.com/schema.json", "outside itself"),
        ("other.json#/a", "outside itself"),
        ("#/$defs/Missing", "does not define"),
        ("#anchor", "does not define"),
    ],
)
def test_references_that_cannot_be_inlined_are_refused(reference: str, reason: str) -> None:
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
    schema = {"type": "object", "properties": {"a": {"$ref": reference}}, "$defs": {"Tree": tree}}
    with pytest.raises(InvalidToolDefinition, match=reason):
        prepare_input_schema("post", schema)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "string"}, 'must have "type": "object"'),
        ({}, 'must have "type": "object"'),
        ({"type": ["object", "null"]}, 'must have "type": "object"'),
        ({"type": "object", "properties": {"a": {"default": b"x"}}}, "holds what is no JSON"),
        ({"type": "object", "properties": {"a": {"default": float("nan")}}}, "holds what is no JSON"),
        ({"type": "object", "properties": {"a": str}}, "holds what is no JSON"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "is not a JSON Schema, at properties/a/type"),
        ({"type": "object", "properties": {"a": {"$dynamicRef": "#a"}}}, "dynamicRef"),
    ],
)
def test_what_is_no_schema_of_an_object_is_refused(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidToolDefinition, match=reason):
        prepare_input_schema("post", schema)


def test_a_tool_without_arguments_gets_empty_properties() -> None:
    assert prepare_input_schema("ping", {"type": "object"}) == {"type": "object", "properties": {}}
