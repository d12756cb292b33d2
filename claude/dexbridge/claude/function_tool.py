"""A function of the application, made with the SDK's `@tool`, as an agent tool."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from claude_agent_sdk import SdkMcpTool
from pydantic import Field, TypeAdapter, create_model
from typing_extensions import is_typeddict  # the one of typing knows no TypedDict of this module

from dexbridge.claude.results import text_of
from dexbridge.toolsource import (
    ApprovalRule,
    AttemptResult,
    Completed,
    Dispatch,
    InvalidToolDefinition,
    OutcomeKind,
    Reconciled,
    StillUnknown,
    ToolEffect,
    ToolOutcome,
    ToolPolicy,
    asks_for_approval,
    check_arguments,
    check_tool_name,
    prepare_input_schema,
)

__all__ = ["FunctionTool", "function_tools"]

_IDEMPOTENT_ATTEMPTS = 3
_TIMEOUT = timedelta(minutes=10)
_UNPOLICED = ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE)


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A custom tool under its policy. A read runs inside the CLI; a write runs in a Step of its own."""

    sdk_tool: SdkMcpTool[Any] = field(hash=False)
    effect: ToolEffect
    approval: ApprovalRule
    input_schema: Mapping[str, Any] = field(hash=False)

    bound = None
    timeout = _TIMEOUT

    @property
    def name(self) -> str:
        return self.sdk_tool.name

    @property
    def description(self) -> str:
        return self.sdk_tool.description

    @property
    def attempts(self) -> int:
        return 1 if self.effect is ToolEffect.NON_IDEMPOTENT_WRITE else _IDEMPOTENT_ATTEMPTS

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return check_arguments(self.name, self.input_schema, arguments)

    def asks(self, arguments: Mapping[str, Any]) -> bool:
        return asks_for_approval(self.name, self.approval, arguments)

    def call_id(self, dispatch: Dispatch) -> str | None:
        del dispatch
        return None

    async def attempt(self, dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
        """Calls the function. What it raises goes through: a write may have been made before it."""
        del dispatch
        result = await self.sdk_tool.handler(dict(arguments))
        kind = OutcomeKind.FAILED if result.get("is_error") is True else OutcomeKind.SUCCEEDED
        return Completed(ToolOutcome(kind, text_of(result)))

    async def reconcile(
        self, dispatch: Dispatch, arguments: Mapping[str, Any], *, opened_at: datetime, ended_by: datetime
    ) -> Reconciled:
        del dispatch, arguments, opened_at, ended_by
        return StillUnknown(
            f"It is not known whether {self.name} took effect, and it has no way to look it up. Do not repeat it; "
            "tell the user that it must be checked."
        )


def function_tools(tools: Sequence[SdkMcpTool[Any]], policies: Mapping[str, ToolPolicy]) -> list[FunctionTool]:
    """Puts each function under its policy; without one it counts as a non-idempotent write that asks.

    Raises:
        InvalidToolDefinition: A name or an input schema cannot be offered.
    """
    return [_function_tool(tool, policies.get(tool.name, _UNPOLICED)) for tool in tools]


def _function_tool(tool: SdkMcpTool[Any], policy: ToolPolicy) -> FunctionTool:
    check_tool_name(tool.name)
    rule = policy.effect.is_write if policy.requires_approval is None else policy.requires_approval
    return FunctionTool(tool, policy.effect, rule, prepare_input_schema(tool.name, _json_schema(tool)))


def _json_schema(tool: SdkMcpTool[Any]) -> Mapping[str, Any]:
    """The JSON Schema of what the SDK's decorator takes: a schema, a mapping of names to types, or a TypedDict."""
    declared = cast("Any", tool.input_schema)
    if isinstance(declared, Mapping):
        members = cast("Mapping[str, Any]", declared)
        if _is_json_schema(members):
            return members
    elif not is_typeddict(declared):
        raise InvalidToolDefinition(
            f"The input schema of {tool.name!r} must be a JSON Schema, a mapping of names to types or a TypedDict, "
            f"not {declared!r}."
        )
    try:
        return _schema_of_types(declared)
    except Exception as error:  # noqa: BLE001  (an annotation can be any object, and pydantic raises as many kinds)
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    raise InvalidToolDefinition(
        f"The input schema of {tool.name!r} names a type that no JSON Schema can be made of: {reason}. "
        'Name types such as str or list[int], or give a JSON Schema with "type": "object".'
    )


def _is_json_schema(members: Mapping[str, Any]) -> bool:
    """Whether it is a schema, not names with their types: it holds what can be no type, or only a schema's key."""
    return (
        isinstance(members.get("type"), str)
        or any(isinstance(value, Mapping | list | bool | int | float) for value in members.values())
        or any(isinstance(name, str) and name.startswith("$") for name in cast("Mapping[object, Any]", members))
    )


def _schema_of_types(declared: Any) -> dict[str, Any]:
    if not isinstance(declared, Mapping):
        return TypeAdapter[Any](declared).json_schema()
    kinds = cast("Mapping[str, Any]", declared)
    # By alias, because a model would take `_id` for private and warn of `json`, a name of its own.
    fields: dict[str, Any] = {
        f"argument_{number}": (_described(kind), Field(alias=name)) for number, (name, kind) in enumerate(kinds.items())
    }
    return create_model("Arguments", **fields).model_json_schema()


def _described(kind: Any) -> Any:
    """`Annotated[str, "text"]` as the SDK reads it: the text describes the argument."""
    if typing.get_origin(kind) is not typing.Annotated:
        return kind
    bare, *metadata = typing.get_args(kind)
    text = next((item for item in metadata if isinstance(item, str)), None)
    return kind if text is None else typing.Annotated[bare, Field(description=text)]
