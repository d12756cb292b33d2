"""Numbers that the CLI, which is JavaScript, cannot hold."""

from __future__ import annotations

from typing import Any

import pytest

from dexbridge.connectors import OperationInput, bind_operation
from dexbridge.connectors.testing import MemoryConnection
from dexbridge.toolsource import InvalidArguments, check_arguments, connector_tool
from tests.fakes.connector import bound_post, post_operation

GREATEST = 9007199254740991
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": ["integer", "string"]},
        "count": {"type": "integer", "maximum": 5},
        "amount": {"type": "number"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
        "free": {"type": "object"},
        "any": {},
    },
}


class Account(OperationInput):
    number: int
    label: int | str = ""
    name: str


def faults(arguments: dict[str, Any], schema: dict[str, Any] = SCHEMA) -> list[str]:
    with pytest.raises(InvalidArguments) as refused:
        check_arguments("pay", schema, arguments)
    return list(refused.value.faults)


def test_numbers_that_arrive_whole_are_taken() -> None:
    arguments = {"id": GREATEST, "amount": -GREATEST, "free": {"a": [1.5, True, 5e-324, 0.1]}, "any": float(GREATEST)}
    assert check_arguments("pay", SCHEMA, arguments) == arguments


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"id": GREATEST + 1}, "id"),
        ({"id": -GREATEST - 1}, "id"),
        ({"any": 725653563933458400}, "any"),
        ({"any": 7.25e17}, "any"),
        ({"any": 1e300}, "any"),
        ({"free": {"deep": [{"id": 725653563933458400}]}}, "free.deep.0.id"),
    ],
)
def test_a_number_that_was_rounded_is_refused_wherever_it_stands(arguments: dict[str, Any], place: str) -> None:
    (fault,) = faults(arguments)
    assert fault.startswith(f"{place}: ")
    assert fault.endswith(f"may have been rounded, as all beyond {GREATEST}: pass it as a string")


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"amount": 725653563933458400}, "amount"),
        ({"amount": 7.25e17}, "amount"),
        ({"either": 725653563933458400}, "either"),
        ({"rows": [{"id": 1}, {"id": 725653563933458400}]}, "rows.1.id"),
    ],
)
def test_where_no_string_is_taken_none_is_asked_for(arguments: dict[str, Any], place: str) -> None:
    (fault,) = faults(arguments)
    assert fault.startswith(f"{place}: ")
    assert fault.endswith("no string is taken here either, so say that it cannot be done")


def test_they_are_named_with_all_other_faults() -> None:
    assert [fault.partition(":")[0] for fault in faults({"id": 10**20, "count": 10**20, "amount": "1", "more": 1})] == [
        "amount",
        "count",
        "count",
        "id",
        "more",
    ]


def test_null_may_have_been_a_number() -> None:
    assert faults({"count": None}) == [
        "count: must be an integer, not null, as which a number beyond 1.8e308 arrives too"
    ]


def test_a_connectors_arguments_are_held_to_it_too() -> None:
    async def send(_: Any) -> Any:
        raise AssertionError

    operation = bind_operation(post_operation(input=Account), MemoryConnection("mail", "main"), Account, send=send)
    tool = connector_tool(operation, operation.reference)
    with pytest.raises(InvalidArguments) as refused:
        tool.validate({"number": 725653563933458400, "label": 725653563933458400})
    assert {fault.partition(":")[0] for fault in refused.value.faults} == {"number", "label", "name"}
    assert "label: 725653563933458400 may have been rounded" in str(refused.value)
    assert "pass it as a string" in str(refused.value)
    given = {"number": GREATEST, "label": "725653563933458432", "name": "Ann"}
    assert tool.validate(given) == given


def test_a_connector_says_what_else_is_wrong_when_no_number_is() -> None:
    operation = bound_post()
    with pytest.raises(InvalidArguments, match="text: is required"):
        connector_tool(operation, operation.reference).validate({"to": "ann"})
