"""The arguments of one call."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dexbridge.toolsource import InvalidArguments, canonical_json, check_arguments, connector_tool, fingerprint
from tests.fakes.connector import bound_post

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "text": {"type": "string", "maxLength": 5},
        "options": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
        "tags": {"type": "array"},
    },
    "required": ["to", "text"],
}


def faults(arguments: dict[str, Any], schema: dict[str, Any] = SCHEMA) -> list[str]:
    with pytest.raises(InvalidArguments) as refused:
        check_arguments("post", schema, arguments)
    assert str(refused.value).startswith("The call of post was not made, its arguments are wrong:\n- ")
    return list(refused.value.faults)


def test_all_faults_are_named_at_once() -> None:
    assert faults({"to": None, "options": {}, "subject": "x", "tags": 7}) == [
        "options.count: missing, it is required",
        "subject: unknown argument, leave it out (known: to, text, options, tags)",
        "tags: must be an array, not a number",
        "text: missing, it is required",
        "to: must be a string, not null",
    ]


def test_an_object_given_as_a_string_of_json_is_refused_and_a_string_is_never_parsed() -> None:
    assert faults({"to": "a", "text": "b", "options": '{"count": 1}', "tags": "[]"}) == [
        "options: must be an object, not a string that holds JSON: pass the value itself",
        "tags: must be an array, not a string that holds JSON: pass the value itself",
    ]
    arguments = {"to": '{"count": 1}', "text": "[1]"}
    assert check_arguments("post", SCHEMA, arguments) == arguments


@pytest.mark.parametrize(
    ("value", "said"),
    [(True, "a boolean"), (1.5, "a number"), ([], "an array"), ({}, "an object"), (None, "null")],
)
def test_the_type_that_was_given_is_named(value: object, said: str) -> None:
    assert faults({"to": value, "text": "b"}) == [f"to: must be a string, not {said}"]


def test_a_long_value_is_not_quoted_whole() -> None:
    (fault,) = faults({"to": "a", "text": "x" * 100_000})
    assert fault.startswith("text: ")
    assert fault.endswith("is too long")
    assert len(fault) < 500


def test_a_schema_may_allow_more() -> None:
    open_schema = {**SCHEMA, "additionalProperties": True}
    arguments = {"to": "a", "text": "b", "more": 1}
    assert check_arguments("post", open_schema, arguments) == arguments
    patterned: dict[str, Any] = {"type": "object", "patternProperties": {"^x_": {}}}
    assert faults({"x_1": 1, "y": 1}, patterned) == ["y: unknown argument, leave it out (known: none)"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.nan, "tags.0.a: must be a finite number"),
        (-math.inf, "tags.0.a: must be a finite number"),
        ("\ud800", "tags.0.a: holds half of a surrogate pair, send plain text"),
        ({"\udfff": 1}, "tags.0.a: every name must be plain text"),
        ({1: 1}, "tags.0.a: every name must be plain text"),
        (b"bytes", "tags.0.a: must be a JSON value, not bytes"),
    ],
)
def test_what_could_be_neither_stored_nor_sent_is_refused_at_any_depth(value: object, said: str) -> None:
    assert faults({"to": "a", "text": "b", "tags": [{"a": value}]}) == [said]


def test_a_connectors_own_check_names_all_faults_too() -> None:
    operation = bound_post()
    tool = connector_tool(operation, operation.reference)
    with pytest.raises(InvalidArguments) as refused:
        tool.validate({"to": None, "subject": "x"})
    assert refused.value.tool_name == "mail_post_letter"
    assert {fault.partition(":")[0] for fault in refused.value.faults} == {"to", "subject", "text"}
    assert tool.validate({"text": "b", "to": "a"}) == {"to": "a", "text": "b"}


def test_the_canonical_form_is_sorted_compact_and_plain_utf8() -> None:
    assert canonical_json({"b": [1, {"d": None, "c": "é"}], "a": True}) == '{"a":true,"b":[1,{"c":"é","d":null}]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": math.nan})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), json_values, max_size=4)


@given(objects)
def test_order_changes_no_fingerprint(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(list(arguments.items())))
    assert fingerprint(turned) == fingerprint(arguments)
    assert fingerprint(arguments) == hashlib.sha256(canonical_json(arguments).encode()).hexdigest()


@given(objects, objects)
def test_other_arguments_have_another_fingerprint(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (fingerprint(one) == fingerprint(other)) is (canonical_json(one) == canonical_json(other))
    assert fingerprint({**one, "extra": 1}) != fingerprint({**one, "extra": "1"})
