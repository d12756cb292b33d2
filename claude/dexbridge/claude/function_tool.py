"""A function of the application, made with the SDK's `@tool`, as an agent tool."""

from __future__ import annotations

import inspect
import logging
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from claude_agent_sdk import SdkMcpTool
from pydantic import Field, TypeAdapter, create_model
from typing_extensions import is_typeddict  # the one of typing knows no TypedDict of this module

from dexbridge.claude.conversation.results import WrongResult, checked_result, text_of
from dexbridge.toolsource import (
    ApprovalRule,
    AttemptResult,
    Completed,
    DefinitionFaults,
    Dispatch,
    InvalidToolDefinition,
    OutcomeKind,
    Reconciled,
    StillUnknown,
    ToolEffect,
    ToolOutcome,
    ToolPolicy,
    Unsettled,
    asks_for_approval,
    check_arguments,
    check_policies,
    prepare_offer,
)

__all__ = ["FunctionTool", "function_tools"]

logger = logging.getLogger(__name__)

_IDEMPOTENT_ATTEMPTS = 3
_TIMEOUT = timedelta(minutes=10)
_SCHEMA_KEYS = frozenset({"$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema"})
_UNPOLICED = ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE)


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A custom tool under its policy. A read runs inside the CLI; a write runs in a Step of its own.

    Attributes:
        inline_timeout: How long a read may take inside the CLI; `None`: until its segment ends.
    """

    sdk_tool: SdkMcpTool[Any] = field(hash=False)
    effect: ToolEffect
    approval: ApprovalRule
    input_schema: Mapping[str, Any] = field(hash=False)

    timeout: timedelta = _TIMEOUT
    inline_timeout: timedelta | None = None

    bound = None

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

    async def call(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Calls the function once.

        Raises:
            WrongResult: What it returned is no result of a tool; logged here.
        """
        returned: object = self.sdk_tool.handler(dict(arguments))
        try:
            if not inspect.isawaitable(returned):
                raise WrongResult(f"The function of {self.name} is not asynchronous: declare it with async def")
            return checked_result(self.name, await returned)
        except WrongResult as error:
            logger.error("%s.", error)
            raise

    async def attempt(self, dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
        """Calls the function. What it raises goes through: a write may have been made before it.

        So may it have been before a wrong result, and that says nothing of what was done.
        """
        del dispatch
        try:
            result = await self.call(arguments)
        except WrongResult as error:
            return Unsettled(f"{error}.")
        kind = OutcomeKind.FAILED if result.get("is_error") is True else OutcomeKind.SUCCEEDED
        return Completed(ToolOutcome(kind, text_of(result)))

    async def reconcile(
        self,
        dispatch: Dispatch,
        arguments: Mapping[str, Any],
        *,
        opened_at: datetime,
        ended_by: datetime,
        give_up_at: datetime | None = None,
    ) -> Reconciled:
        del dispatch, arguments, opened_at, ended_by, give_up_at
        return StillUnknown(
            f"It is not known whether {self.name} took effect, and it has no way to look it up. Do not repeat it; "
            "tell the user that it must be checked."
        )


def function_tools(tools: Sequence[SdkMcpTool[Any]], policies: Mapping[str, ToolPolicy]) -> list[FunctionTool]:
    """Puts each function under its policy; without one it counts as a non-idempotent write that asks.

    Raises:
        InvalidToolDefinition: A name, a description, an input schema or a policy cannot be; names all of them.
    """
    check_policies(policies)
    faults = DefinitionFaults()
    made: list[FunctionTool] = []
    for number, tool in enumerate(tools):
        if not isinstance(cast("object", tool), SdkMcpTool):
            faults.add(f"custom_tools[{number}] is a {type(tool).__name__}: make it with the SDK's @tool(…).")
            continue
        with faults.gathered():
            made.append(_function_tool(tool, policies.get(tool.name, _UNPOLICED)))
    faults.raise_any()
    return made


def _function_tool(tool: SdkMcpTool[Any], policy: ToolPolicy) -> FunctionTool:
    rule = policy.effect.is_write if policy.requires_approval is None else policy.requires_approval
    schema = prepare_offer(tool.name, tool.description, _json_schema(tool))
    return FunctionTool(tool, policy.effect, rule, schema, policy.timeout or _TIMEOUT, policy.timeout)


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
        or not _SCHEMA_KEYS.isdisjoint(members)
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
