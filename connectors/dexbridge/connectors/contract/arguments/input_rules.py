"""What keeps an operation's arguments from having one canonical form, as far as their types tell.

The canonical form is what a person approves, what is recorded, and what is read again before the call is made. So it
has to give the same arguments when it is read again, in every process, and nothing may be lost on the way.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Generator, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Final, Literal, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, Json, JsonValue, RootModel, Secret, SecretBytes, SecretStr, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from typing_extensions import TypeAliasType, is_typeddict

Inside: TypeAlias = tuple[object, ...]
"""The models and type aliases around a place, outermost first."""

_JSON: Final[Any] = Json
_ANY_JSON: Final[Any] = JsonValue
_JSON_TEXT: Final = "text that holds JSON is read into a value and not written as text; use the value's own type"
_UNHOLDABLE: Final[tuple[tuple[tuple[Any, ...], str], ...]] = (
    (
        (SecretStr, SecretBytes, Secret),
        "a secret is masked in what is approved and recorded; take it from the connection's credentials",
    ),
    ((AbstractSet,), "a set has no order, so its form differs from process to process; use a tuple or a list"),
    ((_JSON,), _JSON_TEXT),
)
_PLAIN: Final = frozenset({str, int, float, bool})
_ONCE: Final = frozenset({Iterable, Iterator, Generator})


def input_faults(model: type[BaseModel]) -> tuple[str, ...]:
    """Everything in an input model that cannot hold its canonical form, each as "field: what is wrong, what to do"."""
    return tuple(dict.fromkeys(_of_model(model, "", ())))


def models_in(annotation: Any) -> tuple[type[BaseModel], ...]:
    """The models an annotation names, those inside of these not counted."""
    if isinstance(annotation, TypeAliasType):
        return () if annotation is _ANY_JSON else models_in(annotation.__value__)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return (annotation,)
    if get_origin(annotation) is Literal:
        return ()
    return tuple(model for part in get_args(annotation) for model in models_in(part))


def _of_model(model: type[BaseModel], path: str, inside: Inside) -> Iterator[str]:
    place = path or model.__name__
    if model in inside:
        yield f"{place}: {model.__name__} holds itself, and agents take no schema without an end; bound its depth"
        return
    try:
        model.model_rebuild()
    except (PydanticUndefinedAnnotation, NameError) as error:
        yield f"{place}: {model.__name__} names a type that is not defined ({error.name})"
        return
    if inside and not _is_strict(model):
        yield (
            f"{place}: {model.__name__} takes and drops what the top of the arguments refuses; derive it from "
            "OperationInput"
        )
    for name in model.model_computed_fields:
        yield f"{_joined(path, name)}: a computed field is written and then refused as unknown; make it a method"
    if model.model_config.get("validate_by_alias") is False:
        yield f"{place}: it is written under its aliases and does not read them; leave validate_by_alias out"
    for name, info in model.model_fields.items():
        yield from _of_field(name, info, _joined(path, name), (*inside, model))
    yield from _of_defaults(model, path)


def _is_strict(model: type[BaseModel]) -> bool:
    config = model.model_config
    return config.get("strict") is True and (issubclass(model, RootModel) or config.get("extra") == "forbid")


def _of_field(name: str, info: FieldInfo, path: str, inside: Inside) -> Iterator[str]:
    if info.exclude or getattr(info, "exclude_if", None) is not None:
        yield f"{path}: it is left out of what is approved and recorded; take `exclude` away"
    if (info.validation_alias or name) != (info.serialization_alias or name):
        yield f"{path}: it is read under one name and written under another; give it one `alias`, or none"
    make: Any = info.default_factory
    if make is not None and not info.default_factory_takes_validated_data and make() != make():
        yield f"{path}: its default is another one each time; take what changes from the call, not from an argument"
    if any(item is _JSON or isinstance(item, _JSON) for item in info.metadata):
        yield f"{path}: {_JSON_TEXT}"
    yield from _of_type(info.annotation, path, inside)


def _of_type(annotation: Any, path: str, inside: Inside) -> Iterator[str]:
    if annotation is _ANY_JSON:
        return
    origin: Any = get_origin(annotation) or annotation
    if isinstance(origin, TypeAliasType):
        if origin in inside:
            yield f"{path}: {origin.__name__} holds itself, and agents take no schema without an end; bound its depth"
        else:
            yield from _of_type(origin.__value__, path, (*inside, origin))
    elif isinstance(origin, type) and origin is not types.UnionType:
        fault = _fault_of_class(cast(type[Any], origin))
        if fault is not None:
            yield f"{path}: {fault}"
        elif issubclass(origin, BaseModel):
            yield from _of_model(origin, path, inside)
    if origin is Annotated and any(item is _JSON or isinstance(item, _JSON) for item in annotation.__metadata__):
        yield f"{path}: {_JSON_TEXT}"
    if origin is not Literal:
        parts = get_args(annotation)[:1] if origin is Annotated else get_args(annotation)
        for part in parts:
            yield from _of_type(part, path, inside)


def _fault_of_class(cls: type[Any]) -> str | None:
    for wrong, fault in _UNHOLDABLE:
        if issubclass(cls, wrong):
            return fault
    if cls in _ONCE:
        return "what it holds can be read once only; use a tuple or a list"
    if is_typeddict(cls) or dataclasses.is_dataclass(cls) or _is_named_tuple(cls):
        return f"{cls.__name__} takes and drops what the top of the arguments refuses; make it an OperationInput"
    return None


def _is_named_tuple(cls: Any) -> bool:
    return hasattr(cls, "_fields") and issubclass(cls, tuple)


def _of_defaults(model: type[BaseModel], path: str) -> Iterator[str]:
    """Pydantic checks no default: one that its own field refuses would be approved, and refused when read again."""
    plain = {
        info.validation_alias if isinstance(info.validation_alias, str) else name: info.default
        for name, info in model.model_fields.items()
        if type(info.default) in _PLAIN
    }
    try:
        model.model_validate_json(json.dumps(plain))
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_context=False, include_input=False):
            if detail["loc"] and detail["loc"][0] in plain:
                yield f"{_joined(path, str(detail['loc'][0]))}: its default is not a value it takes"
    except Exception:  # noqa: BLE001  (a check of the author's own; it had no whole input to look at)
        return


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
