"""Names, credentials, configuration and the schema the model is given."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

import jsonschema
import pytest
from jsonschema.exceptions import SchemaError
from pydantic import ValidationError

from dexbridge.connectors.contract.arguments.canonical_form import CHANGED
from dexbridge.connectors.contract.errors import ConnectorError, InvalidInput
from dexbridge.connectors.contract.operation import Operation
from dexbridge.connectors.testing.conformance.stage import PATIENT, Scenes, Server, Stage, complain, require

_TOOL_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,51}")
"""The Messages API takes 64 characters, 12 of them are the prefix `mcp__tools__`."""

_SNAKE: Final = re.compile(r"[a-z][a-z0-9_]*")
_PRIVATE: Final = "value-that-must-not-be-shown"


class IdentityChecks(Scenes[Server]):
    """The definition is whole, and everything in it is bound and has an example."""

    def test_every_operation_is_bound_and_has_an_example(self) -> None:
        declared = [one.operation_id for one in self.definition.operations]
        require(declared, "A Connector has at least one operation.")

        async def scene(stage: Stage[Server]) -> list[Operation]:
            return [one.operation for one in stage.bound.values()]

        bound = self.play(scene)
        require(
            {one.operation_id: one for one in bound} == {one.operation_id: one for one in self.definition.operations},
            f"`bind` must return every operation of the definition: it declares {declared}, "
            f"bound are {[one.operation_id for one in bound]}.",
        )
        unknown = sorted(set(self.examples) - set(declared))
        require(not unknown, f"`examples` names {unknown}, which the definition does not have.")
        for operation_id in declared:
            self.example(operation_id)

    def test_tool_names_are_accepted_and_differ(self) -> None:
        names = [one.tool_name for one in self.definition.operations]
        wrong = [name for name in names if not _TOOL_NAME.fullmatch(name)]
        require(
            not wrong, f"Tool names have at most 52 characters: shorten connector ID or operation IDs behind {wrong}."
        )
        require(len(set(names)) == len(names), f"Two operations give the same tool name: {names}.")

    def test_credentials_tell_where_to_get_them(self) -> None:
        names = [one.name for one in self.definition.credentials]
        require(len(set(names)) == len(names), f"A credential is declared twice: {names}.")
        for credential in self.definition.credentials:
            require(_SNAKE.fullmatch(credential.name), f"Credential {credential.name!r} must be in snake case.")
            require(credential.title.strip(), f"Credential {credential.name!r} needs a title.")
            require(credential.hint.strip(), f"Credential {credential.name!r} needs a hint: its form, where to get it.")
            if credential.pattern is not None:
                re.compile(credential.pattern)

    def test_the_local_credentials_have_the_declared_form(self) -> None:
        patterns = {one.name: one.pattern for one in self.definition.credentials}

        async def scene(stage: Stage[Server]) -> dict[str, str]:
            return {name: secret.reveal() for name, secret in (await stage.held.read_credentials()).items()}

        for name, value in self.play(scene).items():
            require(name in patterns, f"`new_connection` gives a credential {name!r} that is not declared.")
            pattern = patterns[name]
            require(
                pattern is None or re.fullmatch(pattern, value),
                f"The local server's {name} does not match the declared pattern; make one up that does.",
            )

    def test_configuration_is_strict_and_echoes_nothing(self) -> None:
        async def scene(stage: Stage[Server]) -> dict[str, Any]:
            return dict(stage.held.configuration)

        good = self.play(scene)
        model = self.definition.configuration
        model.model_validate(good)
        with pytest.raises(ValidationError) as unknown:
            model.model_validate({**good, "noSuchSetting": _PRIVATE})
        require("noSuchSetting" in str(unknown.value), "An unknown setting must be refused by name.")
        require(
            _PRIVATE not in str(unknown.value),
            "The configuration's errors echo values; derive it from ConnectorConfiguration.",
        )
        names = [field.alias or name for name, field in model.model_fields.items()]
        for name in names:
            for value in (f"https://user:{_PRIVATE}@example.com/?{_PRIVATE}", [_PRIVATE], {_PRIVATE: _PRIVATE}):
                self._configure({**good, name: value}, name)

    def _configure(self, configuration: dict[str, Any], name: str) -> None:
        async def scene(stage: Stage[Server]) -> None:
            stage.held.configuration = configuration
            self.bind(stage.held, PATIENT)

        try:
            self.play(scene)
        except (ConnectorError, ValueError) as refused:
            require(
                _PRIVATE not in f"{refused} {refused!r}",
                f"Refusing a wrong {name!r} echoes its value; raise ValueError with a sentence that does not hold it.",
            )


class SchemaChecks(Scenes[Server]):
    """The arguments: what the model is told, what is accepted, what is refused."""

    def test_the_schema_has_the_form_agents_take(self, operation_id: str) -> None:
        schema, _ = self._schema(operation_id)
        require(schema.get("type") == "object", "The schema must be of type object.")
        require(schema.get("additionalProperties") is False, "The schema must refuse unknown arguments.")
        for word in ("oneOf", "anyOf", "allOf", "$defs", "$ref"):
            require(word not in schema, f"The schema must not have {word} at its top.")
        require('"$ref"' not in json.dumps(schema), "The schema must not hold a $ref.")
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            complain(f"The schema is not a JSON Schema: {error.message}")
        properties = cast(dict[str, dict[str, Any]], schema["properties"])
        for name, about in properties.items():
            require(_SNAKE.fullmatch(name), f"The argument {name!r} must be in snake case.")
            require(
                str(about.get("description", "")).strip(),
                f"The argument {name!r} needs a description: the model reads it. Use Field(description=...).",
            )

    def test_the_example_is_accepted_and_stays_what_it_is(self, operation_id: str) -> None:
        schema, accepted = self._schema(operation_id)
        example = dict(self.example(operation_id).arguments)
        jsonschema.validate(example, schema)
        require(
            example.items() <= accepted.items(),
            f"Validating the example changed it: {example} became {accepted}.",
        )

        async def again(stage: Stage[Server]) -> dict[str, Any]:
            return stage.bound[operation_id].validate(accepted)

        require(self.play(again) == accepted, "Validated arguments must stay the same when they are validated again.")

    def test_what_is_approved_is_what_is_read_again(self, operation_id: str) -> None:
        example = dict(self.example(operation_id).arguments)

        async def scene(stage: Stage[Server]) -> None:
            bound = stage.bound[operation_id]
            properties = cast(dict[str, dict[str, Any]], bound.input_schema()["properties"])
            cases = [{**example, name: value} for name, about in properties.items() for value in _values(about)]
            cases += [{key: value for key, value in example.items() if key != name} for name in example]
            for given in (example, *cases):
                try:
                    canonical = bound.validate(given)
                except InvalidInput as refused:
                    require(
                        CHANGED not in str(refused),
                        f"{operation_id} takes {given} and does not read its own canonical form as the same: "
                        f"{'; '.join(refused.faults)}.",
                    )
                    continue
                lost = [name for name, value in given.items() if value is not None and name not in canonical]
                require(not lost, f"{operation_id} takes {given} and drops {lost}.")
                require(
                    bound.validate(canonical) == canonical,
                    f"{operation_id} takes {given} and makes {canonical} of it, which it then reads as "
                    f"{bound.validate(canonical)}.",
                )

        self.play(scene)

    def test_wrong_arguments_are_refused_by_name_and_not_sent(self, operation_id: str) -> None:
        schema, _ = self._schema(operation_id)
        example = dict(self.example(operation_id).arguments)
        cases: list[tuple[str, dict[str, Any]]] = [("no_such_argument", {**example, "no_such_argument": 1})]
        cases += [(name, {k: v for k, v in example.items() if k != name}) for name in schema.get("required", ())]
        cases += [(name, {**example, name: {"not": ["this", 1]}}) for name in example]

        async def scene(stage: Stage[Server]) -> None:
            for name, arguments in cases:
                try:
                    stage.bound[operation_id].validate(arguments)
                except InvalidInput as refused:
                    require(
                        any(fault.startswith(name) for fault in refused.faults),
                        f"A wrong {name!r} must be named first in its fault; it reads {refused.faults}.",
                    )
                else:
                    complain(f"{operation_id} accepts {arguments}, in which {name!r} is wrong or missing.")
                await stage.dispatch(operation_id, arguments)
            require(not stage.server.requests, "Arguments that are refused must never reach the provider.")

        self.play(scene)

    def _schema(self, operation_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
        async def scene(stage: Stage[Server]) -> tuple[dict[str, Any], dict[str, Any]]:
            bound = stage.bound[operation_id]
            return bound.input_schema(), bound.validate(self.example(operation_id).arguments)

        return self.play(scene)


def _values(about: Mapping[str, Any]) -> list[Any]:
    """Values that an argument's schema names: null, its default, its choices, its examples, its bounds."""
    found: list[Any] = []
    for one in (about, *about.get("anyOf", ()), *about.get("oneOf", ())):
        found += [None] if one.get("type") == "null" else []
        found += [False, True] if one.get("type") == "boolean" else []
        found += [one[word] for word in ("default", "const", "minimum", "maximum") if word in one]
        found += [*one.get("enum", ()), *one.get("examples", ())]
    return found
