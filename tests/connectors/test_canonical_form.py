"""What is approved is what is read again: the canonical form of arguments, and input models that cannot hold one."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    JsonValue,
    PlainSerializer,
    RootModel,
    SecretStr,
    computed_field,
    create_model,
    model_validator,
)
from typing_extensions import TypeAliasType, TypedDict

from dexbridge.connectors import (
    Advice,
    Attempt,
    BoundOperation,
    Dispatch,
    InvalidInput,
    InvalidOperation,
    Mutation,
    OperationInput,
    bind_operation,
)
from tests.connectors.mock_provider import GRANT, Granted, call, held


class Plain(BaseModel):
    a: int


class Strict(OperationInput):
    a: int
    b: int | None = None


class Node(OperationInput):
    name: str
    children: tuple[Node, ...] = ()


class Doubled(OperationInput):
    @computed_field
    @property
    def double(self) -> int:
        return 2


class Row(TypedDict):
    a: int


class Pair(NamedTuple):
    a: int


@dataclass
class Point:
    a: int


Tree = TypeAliasType("Tree", "list[Tree] | int")


def model(annotation: Any, default: Any = ...) -> type[OperationInput]:
    return create_model("Given", __base__=OperationInput, value=(annotation, default))


def operation(given: type[BaseModel]) -> Mutation:
    return Mutation(
        connector_id=GRANT.connector_id,
        operation_id=GRANT.operation_id,
        title=GRANT.title,
        description=GRANT.description,
        input=given,
        output=Granted,
        branches=GRANT.branches,
    )


async def _send(dispatch: Dispatch[Any]) -> Attempt:
    dispatch.about_to_send()
    return dispatch.took("granted", Granted(note=repr(dispatch.input)), dispatch.receipt("1"))


def bound(given: type[BaseModel]) -> BoundOperation:
    return bind_operation(operation(given), held(), given, send=_send)


@pytest.mark.parametrize(
    ("annotation", "default", "says"),
    [
        (SecretStr, ..., "value: a secret is masked"),
        (list[SecretStr], ..., "value: a secret is masked"),
        (set[str], ..., "value: a set has no order"),
        (dict[str, frozenset[int]] | None, None, "value: a set has no order"),
        (Json[dict[str, int]], ..., "value: text that holds JSON"),
        (Annotated[str, Field(exclude=True)], ..., "value: it is left out"),
        (Annotated[str, Field(validation_alias=AliasChoices("a", "b"))], ..., "value: it is read under one name"),
        (Annotated[str, Field(serialization_alias="other")], ..., "value: it is read under one name"),
        (Node, ..., r"value\.children: Node holds itself"),
        (Plain, ..., "value: Plain takes and drops"),
        (tuple[Plain, ...], ..., "value: Plain takes and drops"),
        (dict[str, Plain | None], ..., "value: Plain takes and drops"),
        (RootModel[list[str]], ..., r"value: RootModel\[list\[str\]\] takes and drops"),
        (Doubled, ..., r"value\.double: a computed field"),
        (Row, ..., "value: Row takes and drops"),
        (Pair, ..., "value: Pair takes and drops"),
        (Point, ..., "value: Point takes and drops"),
        (str, Field(default_factory=lambda: str(uuid.uuid4())), "value: its default is another one each time"),
        (int, "5", "value: its default is not a value it takes"),
    ],
)
def test_what_cannot_hold_its_canonical_form_is_refused_by_name_when_it_is_defined(
    annotation: Any, default: Any, says: str
) -> None:
    with pytest.raises(InvalidOperation, match=says):
        operation(model(annotation, default))


def test_a_type_alias_that_holds_itself_is_refused_when_it_is_offered() -> None:
    with pytest.raises(InvalidOperation, match="Tree holds itself"):
        bound(model(Tree)).input_schema()


def test_every_fault_is_named_at_once_and_a_connection_s_own_model_is_checked_too() -> None:
    class Many(OperationInput):
        tags: set[str]
        token: SecretStr

    class OwnLimits(Strict):
        tags: set[str]

    with pytest.raises(InvalidOperation, match=r"tags: .*; token: "):
        operation(Many)
    with pytest.raises(InvalidOperation, match=r"grant_credit: .*tags: "):
        bind_operation(operation(Strict), held(), OwnLimits, send=_send)


@pytest.mark.parametrize(
    ("annotation", "default", "given", "canonical"),
    [
        (int | None, 5, {"value": None}, {"value": None}),
        (int | None, 5, {}, {"value": 5}),
        (int | None, None, {"value": None}, {}),
        (int | None, ..., {"value": None}, {"value": None}),
        (dict[str, int | None], ..., {"value": {"a": None, "b": 1}}, {"value": {"a": None, "b": 1}}),
        (list[Strict | None], ..., {"value": [{"a": 1, "b": None}, None]}, {"value": [{"a": 1}, None]}),
        (JsonValue, ..., {"value": {"a": [None]}}, {"value": {"a": [None]}}),
        (Annotated[int | None, Field(alias="count")], 5, {"count": None}, {"count": None}),
    ],
)
async def test_arguments_read_again_are_the_same_arguments(
    annotation: Any, default: Any, given: dict[str, Any], canonical: dict[str, Any]
) -> None:
    one = bound(model(annotation, default))
    assert one.validate(given) == canonical
    assert one.validate(canonical) == canonical
    first, again = await one.dispatch(call(GRANT), given), await one.dispatch(call(GRANT), canonical)
    assert getattr(first, "output", None) == getattr(again, "output", None) is not None


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, PlainSerializer(lambda value: value + 1)],
        Annotated[int, PlainSerializer(lambda _value: "many")],
        Annotated[int, AfterValidator(lambda value: value + 1)],
    ],
    ids=["another value", "another type", "changed at each reading"],
)
def test_what_only_a_value_shows_is_refused_before_anybody_is_asked(annotation: Any) -> None:
    with pytest.raises(InvalidInput, match=r"would not be the same when .* read again") as refused:
        bound(model(annotation)).validate({"value": 1})
    assert "tell whoever runs the agent" in str(refused.value)


def test_models_inside_are_as_strict_as_the_top() -> None:
    one = bound(model(Strict))
    for inside in ({"a": "1"}, {"a": 1, "z": 2}):
        with pytest.raises(InvalidInput, match=r"value\.(a|z): "):
            one.validate({"value": inside})


class Aliased(OperationInput):
    model_config = ConfigDict(validate_by_name=True)

    from_: Annotated[str, Field(alias="from", pattern="^C"), Advice("give the ID of the channel")]
    inner: Strict = Strict(a=1)


def test_an_aliased_argument_is_told_under_the_name_the_model_knows_with_its_advice() -> None:
    class Checked(Aliased):
        @model_validator(mode="after")
        def not_the_first(self) -> Checked:
            if self.from_ == "C1":
                raise ValueError("from_: must not be C1")
            return self

    one = bound(Checked)
    faults: list[str] = []
    for given in ({"from": "x"}, {"from": "C1"}, {"from": "C2", "to": 1}, {}):
        with pytest.raises(InvalidInput) as refused:
            one.validate(given)
        faults += refused.value.faults
    assert faults == [
        "from: does not have the right form; give the ID of the channel",
        "from: must not be C1",
        "to: is not an argument of this operation, leave it out; the arguments are: from, inner",
        "from: is required; give the ID of the channel",
    ]


class ByName(OperationInput):
    kind: Literal["name"]
    name: Annotated[str, Field(min_length=1), Advice("give a name")]


class ByNumber(OperationInput):
    kind: Literal["number"]
    title: int
    sizes: dict[str, int] = Field(default={"title": 1})


def test_a_choice_by_kind_leaves_nothing_dangling_in_the_schema() -> None:
    class Choice(OperationInput):
        who: Annotated[ByName | ByNumber, Field(discriminator="kind")]

    one = bound(Choice)
    schema = one.input_schema()
    assert "$defs" not in str(schema)
    assert "discriminator" not in str(schema)
    first, second = schema["properties"]["who"]["oneOf"]
    assert (first["properties"]["kind"]["const"], second["properties"]["title"]["type"]) == ("name", "integer")
    assert second["properties"]["sizes"]["default"] == {"title": 1}
    assert one.validate({"who": {"kind": "number", "title": 1}}) == {
        "who": {"kind": "number", "title": 1, "sizes": {"title": 1}}
    }
    with pytest.raises(InvalidInput, match=r"who\.name\.name: .*; give a name"):
        one.validate({"who": {"kind": "name", "name": ""}})
