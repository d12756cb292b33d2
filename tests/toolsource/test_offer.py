"""What the Messages API would refuse with every request, or the CLI would change, is refused at the definition."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from dexbridge.connectors import OperationInput, bind_operation
from dexbridge.connectors.testing import MemoryConnection
from dexbridge.toolsource import InvalidToolDefinition, connector_tool, prepare_offer
from tests.fakes.connector import bound_post, post_operation

LONG = "x" * 65
WRONG_NAMES = ["filter[app]", "$top", "größe", "Account Number", LONG, ""]


class Search(OperationInput):
    app: str = Field(alias="filter[app]")
    top: int = Field(alias="$top", default=10)


def object_with(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def called(name: str) -> dict[str, Any]:
    return object_with(**{name: {}})


def refusal(schema: dict[str, Any], *, name: str = "search", description: Any = "Searches.") -> str:
    with pytest.raises(InvalidToolDefinition) as refused:
        prepare_offer(name, description, schema)
    return str(refused.value)


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_a_parameter_name_the_api_refuses_is_refused(name: str) -> None:
    said = refusal(object_with(**{name: {"type": "string"}}))
    assert "'search'" in said
    assert name[:40] in said


def test_all_of_them_are_named_in_one_error() -> None:
    said = refusal(object_with(**{name: {} for name in WRONG_NAMES}, fine={}))
    assert all(name[:40] in said for name in WRONG_NAMES)
    assert "fine" not in said
    assert "rename it" in said


def test_what_the_api_takes_is_taken() -> None:
    nested = object_with(**{name: {} for name in WRONG_NAMES})
    schema = object_with(**{"a.b-c_D9": {}, "x" * 64: {}, "filters": nested, "list": {"items": nested}})
    assert prepare_offer("search", "Searches.", schema) == schema


def test_the_alias_of_a_connectors_field_is_its_name() -> None:
    operation = bind_operation(
        post_operation(input=Search), MemoryConnection("mail", "main"), Search, send=lambda _: pytest.fail("sent")
    )
    with pytest.raises(InvalidToolDefinition) as refused:
        connector_tool(operation, operation.reference)
    assert all(part in str(refused.value) for part in ("'mail_post_letter'", "'filter[app]'", "'$top'", "alias"))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("a" * 4096, True),
        ("a" * 4097, False),
        ("ü" * 4096, True),
        ("😀" * 2048, True),
        ("😀" * 2049, False),
        ("e\u0301" * 4096, True),
        ("\u200b" * 5000, True),
        ("\ufdfa" * 300, False),
    ],
)
def test_a_description_is_as_long_as_the_cli_counts(text: str, fits: bool) -> None:
    if fits:
        prepare_offer("search", text, object_with())
        return
    said = refusal(object_with(), description=text)
    assert "'search'" in said
    assert "4,096" in said


def test_a_connectors_description_is_held_to_it_too() -> None:
    operation = bound_post(description="a" * 4097)
    with pytest.raises(InvalidToolDefinition, match=r"'mail_post_letter' is 4,097 characters long"):
        connector_tool(operation, operation.reference)


def test_a_description_of_a_parameter_may_be_long() -> None:
    schema = object_with(a={"type": "string", "description": "d" * 20_000})
    assert prepare_offer("search", "Searches.", schema) == schema


def test_a_description_is_a_text() -> None:
    assert "must be a text, not NoneType" in refusal(object_with(), description=None)


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        (object_with(a={"enum": ["x", "①"]}), "'\\u2460' in 'enum' at properties/a as '1'"),
        (object_with(a={"const": {"k": "ﬁ"}}), "'\\ufb01' in 'const'"),
        (object_with(a={"pattern": "^\u200b"}), "'^\\u200b' in 'pattern'"),
        (object_with(a=called("e\u0301")), "'e\\u0301' at properties/a as '\xe9'"),
        (object_with(a={"enum": ["👨\u200d👩"]}), "in 'enum' at properties/a"),
        (object_with(a={"items": {"enum": ["x\ud800"]}}), "in 'enum' at properties/a/items"),
        (called("__proto__"), "'__proto__'"),
        (object_with(a=called("__proto__")), "'__proto__' at properties/a"),
        (object_with(a={"const": 2**53}), "9007199254740992 in 'const' at properties/a"),
        (object_with(a={"anyOf": [{"enum": [1, -(2**60)]}]}), "in 'enum' at properties/a/anyOf/0"),
        (object_with(a={"default": [2**63]}), "in 'default' at properties/a"),
    ],
)
def test_what_the_model_would_be_told_otherwise_is_refused(schema: dict[str, Any], named: str) -> None:
    assert named in refusal(schema)


def test_what_only_describes_may_change() -> None:
    schema = object_with(
        a={"type": "integer", "maximum": 2**63 - 1, "description": "½ …", "title": "①"},
        b={"enum": ["ü", "日本", "❤️", 1, 2**53 - 1, None]},
    )
    assert prepare_offer("search", "Searches… ½ of it.", schema) == schema


def test_all_that_is_wrong_with_a_tool_is_in_one_error() -> None:
    said = refusal(object_with(**{"$top": {}, "a": {"const": "①"}}), name="look.up", description="x" * 5000)
    assert [len(line) > 20 for line in said.splitlines()] == [True, True, True]
    assert all(part in said for part in ("'look.up' may hold only", "5,000 characters", "'$top'", "\\u2460"))
