"""A Connector operation as an agent tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from dexbridge.connectors import (
    BoundOperation,
    BranchOutcome,
    BranchTaken,
    Call,
    CannotTell,
    ConnectionReference,
    FoundNotSent,
    FoundSent,
    InvalidInput,
    OperationKind,
    Receipt,
    Retry,
    Uncertain,
    render_for_model,
)
from dexbridge.toolsource.effect import ToolEffect
from dexbridge.toolsource.errors import InvalidArguments, InvalidToolDefinition
from dexbridge.toolsource.numbers import number_faults
from dexbridge.toolsource.offer import prepare_offer
from dexbridge.toolsource.outcome import (
    AttemptResult,
    Completed,
    Dispatch,
    NotDone,
    OutcomeKind,
    Reconciled,
    StillUnknown,
    ToolOutcome,
    Unsettled,
)
from dexbridge.toolsource.policy import ApprovalRule, ToolPolicy, asks_for_approval

__all__ = ["ConnectorTool", "connector_tool"]

_MOST_ATTEMPTS = 3
_UNKNOWN_ADVICE = (
    "It is not known whether this call took effect. Do not repeat it; tell the user that it must be checked."
)


@dataclass(frozen=True, slots=True)
class ConnectorTool:
    """One operation of one connection, offered to an agent. Made by `connector_tool`."""

    name: str
    bound: BoundOperation
    approval: ApprovalRule
    input_schema: Mapping[str, Any] = field(hash=False)

    @property
    def description(self) -> str:
        return self.bound.operation.description

    @property
    def reference(self) -> ConnectionReference:
        """The connection the calls use."""
        return self.bound.reference

    @property
    def effect(self) -> ToolEffect:
        operation = self.bound.operation
        if operation.kind is OperationKind.QUERY:
            return ToolEffect.READ
        return ToolEffect.IDEMPOTENT_WRITE if operation.safe_to_retry else ToolEffect.NON_IDEMPOTENT_WRITE

    @property
    def attempts(self) -> int:
        return min(_MOST_ATTEMPTS, self.bound.operation.retry.attempts)

    @property
    def timeout(self) -> timedelta:
        return self.bound.operation.timeout

    def with_policy(self, policy: ToolPolicy) -> ConnectorTool:
        """Returns the tool under a session's policy, which can change only the approval.

        Raises:
            InvalidToolDefinition: The policy sets a timeout.
        """
        if policy.timeout is not None:
            raise InvalidToolDefinition(
                f"The policy of {self.name!r} sets a timeout, but its operation has its own, "
                f"{self.timeout.total_seconds():g} s: leave it out."
            )
        return self if policy.requires_approval is None else replace(self, approval=policy.requires_approval)

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        faults = list(number_faults(self.input_schema, arguments))
        try:
            validated = self.bound.validate(arguments)
        except InvalidInput as error:
            faults.extend(error.faults)
        else:
            if not faults:
                return validated
        raise InvalidArguments(self.name, faults)

    def asks(self, arguments: Mapping[str, Any]) -> bool:
        return asks_for_approval(self.name, self.approval, arguments)

    def call_id(self, dispatch: Dispatch) -> str:
        return self._call(dispatch).call_id

    async def attempt(self, dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
        result = await self.bound.dispatch(self._call(dispatch), arguments)
        operation = self.bound.operation
        match result:
            case BranchTaken(branch=branch, receipt=receipt):
                kind = OutcomeKind(operation.outcome_of(branch).value)
                text = render_for_model(operation, result)
                if kind is OutcomeKind.OUTCOME_UNKNOWN:
                    return Unsettled(text)
                return Completed(ToolOutcome(kind, text, _receipt(receipt)))
            case Retry(delay=delay):
                return NotDone(render_for_model(operation, result), delay)
            case Uncertain():
                return Unsettled(render_for_model(operation, result))

    async def reconcile(
        self,
        dispatch: Dispatch,
        arguments: Mapping[str, Any],
        *,
        opened_at: datetime,
        ended_by: datetime,
        give_up_at: datetime | None = None,
    ) -> Reconciled:
        operation = self.bound.operation
        if not operation.can_reconcile:
            return StillUnknown(_UNKNOWN_ADVICE)
        call = self._call(dispatch)
        match await self.bound.reconcile(
            call, arguments, opened_at=opened_at, ended_by=ended_by, give_up_at=give_up_at
        ):
            case FoundSent(output=output, receipt=receipt, branch=branch):
                text = render_for_model(operation, BranchTaken(branch=branch, output=output, receipt=receipt))
                kind = OutcomeKind(operation.outcome_of(branch).value)
                return ToolOutcome(kind, text, _receipt(receipt))
            case FoundNotSent(message=message):
                return ToolOutcome(OutcomeKind.FAILED, message)
            case CannotTell(message=message, retry_at=retry_at):
                return StillUnknown(f"{message} {_UNKNOWN_ADVICE}", retry_at)

    def _call(self, dispatch: Dispatch) -> Call:
        operation = self.bound.operation
        return Call(
            flow_id=dispatch.flow_id,
            step_execution_id=dispatch.step_execution_id,
            connector_id=operation.connector_id,
            operation_id=operation.operation_id,
            attempt=dispatch.attempt,
            dispatch_before=dispatch.dispatch_before,
        )


def connector_tool(
    operation: BoundOperation,
    reference: ConnectionReference,
    *,
    name: str | None = None,
    requires_approval: ApprovalRule | None = None,
) -> ConnectorTool:
    """Turns an operation of a connection into an agent tool.

    Args:
        operation: What a connection returns, such as `connection.post_thread_reply()`.
        reference: The connection's reference; must be the operation's own.
        name: The tool's name; by default `<connector>_<operation>` in snake case.
        requires_approval: A bool, or a predicate over the validated arguments (one that raises asks). `None` takes
            the operation's own recommendation.

    Raises:
        InvalidToolDefinition: The operation is not marked as exposed to agents, the reference is another
            connection's, the name cannot be offered, or the input schema cannot be.
    """
    definition = operation.operation
    tool_name = definition.tool_name if name is None else name
    label = f"{definition.connector_id}.{definition.operation_id}"
    if not definition.exposed_to_agents:
        raise InvalidToolDefinition(
            f"The operation {label} is not marked as exposed to agents, so it cannot become the tool {tool_name!r}: "
            "choose another operation, or mark it exposed_to_agents=True in its Connector."
        )
    if reference != operation.reference:
        raise InvalidToolDefinition(
            f"The tool {tool_name!r} was given the reference {reference}, but its operation belongs to "
            f"{operation.reference}: pass the reference of the connection that made the operation."
        )
    if definition.branches and all(branch.outcome is not BranchOutcome.SUCCEEDED for branch in definition.branches):
        raise InvalidToolDefinition(f"The operation {label} has no branch that succeeds: mark its happy branch.")
    return ConnectorTool(
        name=tool_name,
        bound=operation,
        approval=definition.recommends_approval if requires_approval is None else requires_approval,
        input_schema=prepare_offer(tool_name, definition.description, operation.input_schema()),
    )


def _receipt(receipt: Receipt | None) -> dict[str, Any] | None:
    return None if receipt is None else receipt.to_json()
