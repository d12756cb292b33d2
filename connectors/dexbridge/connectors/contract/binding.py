"""Binds an operation to a connection.

A Connector author writes the models, the definition and one small function; what is here makes it fail closed:

    async def grant(dispatch: Dispatch[GrantInput]) -> Attempt:
        token = dispatch.credential("api_key").reveal()
        headers = {"Authorization": f"Bearer {token}"}
        answer = await pool.request("POST", url, leave=dispatch.leave, headers=headers, json=...)
        if answer.status == 201:
            return dispatch.took("granted", Granted(...), dispatch.receipt(object_id))
        if answer.status == 422:
            return dispatch.failed("refused", FailureKind.VALIDATION, "give a positive amount.")
        return dispatch.uncertain(FailureKind.PROTOCOL, f"The provider answered HTTP {answer.status}.")

    bound = bind_operation(GRANT_CREDIT, connection, GrantInput, send=grant)

Errors of HttpPool need no handling: not connected becomes a retry, no answer becomes uncertain.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel

from dexbridge.connectors.contract.arguments.canonical_form import hold_arguments
from dexbridge.connectors.contract.arguments.input_rules import input_faults
from dexbridge.connectors.contract.arguments.input_schema import input_schema_of, parse_input
from dexbridge.connectors.contract.attempts.attempt import Attempt, BranchTaken, Retry, Uncertain
from dexbridge.connectors.contract.attempts.attempt_rules import fault_of
from dexbridge.connectors.contract.attempts.dispatch import Dispatch, Inquiry
from dexbridge.connectors.contract.attempts.reconciliation import (
    CannotTell,
    FoundNotSent,
    FoundSent,
    Reconciliation,
    look_again,
)
from dexbridge.connectors.contract.bound_operation import BoundOperation, Progress
from dexbridge.connectors.contract.call import Call
from dexbridge.connectors.contract.errors import (
    CredentialsUnavailable,
    InvalidInput,
    InvalidOperation,
    NeverSent,
    NoAnswer,
)
from dexbridge.connectors.contract.failure import Failure, FailureKind
from dexbridge.connectors.contract.operation import DEFECT, UNCERTAIN, Operation, OperationKind
from dexbridge.connectors.contract.project import ConnectionReference, ProjectConnection
from dexbridge.connectors.contract.secrets.redaction import redact, redact_attempt, redact_reconciliation
from dexbridge.connectors.contract.secrets.secret import Secret
from dexbridge.connectors.contract.secrets.withheld import Withheld, withhold

_LOG: Final = logging.getLogger("dexbridge.connectors")

In = TypeVar("In", bound=BaseModel)

SETTLING_TIME: Final = timedelta(seconds=5)
"""How long after a request ended a provider may still need to show its effect to a reader."""


def bind_operation(
    operation: Operation,
    connection: ProjectConnection,
    input_model: type[In],
    *,
    send: Callable[[Dispatch[In]], Awaitable[Attempt]],
    reconcile: Callable[[Inquiry[In]], Awaitable[Reconciliation]] | None = None,
    idempotency_key: Callable[[str, In], str] | None = None,
    settling_time: timedelta = SETTLING_TIME,
) -> BoundOperation:
    """Binds an operation to a connection.

    Args:
        operation: the definition.
        connection: where credentials are read at each dispatch.
        input_model: the operation's input, or a subclass with the connection's own limits.
        send: makes the one request. It calls `dispatch.about_to_send()` right before the bytes leave and
            returns an attempt; what it raises becomes `defect` before that point and `uncertain` after it.
        reconcile: answers an Inquiry; exactly when the operation says `can_reconcile`. A FoundNotSent that
            comes before `ended_by` + `settling_time` is turned into CannotTell.
        idempotency_key: derives a Mutation's key from Call ID and input; the default is the Call ID.
        settling_time: see `reconcile`.

    Raises:
        InvalidOperation: the parts do not fit together.
    """
    if not issubclass(input_model, operation.input):
        raise InvalidOperation(
            f"{operation.tool_name}: {input_model.__name__} must be {operation.input.__name__} or a subclass of it."
        )
    faults = input_faults(input_model) if input_model is not operation.input else ()
    if faults:
        raise InvalidOperation(f"{operation.tool_name}: its arguments cannot be offered. {'; '.join(faults)}.")
    if operation.can_reconcile != (reconcile is not None):
        raise InvalidOperation(
            f"{operation.tool_name}: give `reconcile` exactly when the operation says can_reconcile."
        )
    if idempotency_key is not None and operation.kind is OperationKind.QUERY:
        raise InvalidOperation(f"{operation.tool_name}: a Query has no idempotency key.")
    return _Bound(
        operation,
        connection,
        input_model,
        send=send,
        reconcile=reconcile,
        idempotency_key=idempotency_key,
        settling_time=settling_time,
    )


class _Bound(Generic[In]):
    def __init__(
        self,
        operation: Operation,
        connection: ProjectConnection,
        input_model: type[In],
        *,
        send: Callable[[Dispatch[In]], Awaitable[Attempt]],
        reconcile: Callable[[Inquiry[In]], Awaitable[Reconciliation]] | None,
        idempotency_key: Callable[[str, In], str] | None,
        settling_time: timedelta,
    ) -> None:
        self._operation = operation
        self._connection = connection
        self._input_model = input_model
        self._send = send
        self._reconcile = reconcile
        self._idempotency_key = idempotency_key
        self._settling_time = settling_time

    @property
    def operation(self) -> Operation:
        return self._operation

    @property
    def reference(self) -> ConnectionReference:
        return self._connection.reference

    def __repr__(self) -> str:
        return f"<{self._operation.tool_name} on {self.reference}>"

    def input_schema(self) -> dict[str, Any]:
        return input_schema_of(self._input_model)

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return hold_arguments(self._operation.tool_name, self._input_model, arguments)

    async def dispatch(self, call: Call, arguments: Mapping[str, Any], *, progress: Progress | None = None) -> Attempt:
        attempt = await _without_traceback(self._dispatch(call, arguments, progress))
        if attempt is None:
            raise asyncio.CancelledError
        return attempt

    async def reconcile(
        self,
        call: Call,
        arguments: Mapping[str, Any],
        *,
        opened_at: datetime,
        ended_by: datetime,
        give_up_at: datetime | None = None,
    ) -> Reconciliation:
        found = await _without_traceback(self._inquire(call, arguments, opened_at, ended_by, give_up_at))
        if found is None:
            raise asyncio.CancelledError
        return found

    async def withheld(self, arguments: Mapping[str, Any]) -> Withheld | None:
        try:
            return withhold(arguments, self.reference, (await self._connection.read_credentials()).values())
        except Exception:  # noqa: BLE001  (a project may raise anything; a dispatch says what is wrong with it)
            return None

    async def _dispatch(self, call: Call, arguments: Mapping[str, Any], progress: Progress | None) -> Attempt:
        try:
            self._check_identity(call)
            given = self._parse(arguments)
            key = self._key(call, given)
        except InvalidInput as error:
            return self._defect(FailureKind.VALIDATION, str(error))
        except InvalidOperation as error:
            return self._defect(FailureKind.LOCAL_DEFECT, str(error))
        except Exception as error:  # noqa: BLE001  (an author's key function may raise anything)
            return self._defect(FailureKind.LOCAL_DEFECT, self._logged(error, "before anything was sent"))

        held: dict[str, Secret] = {}
        secrets: dict[str, Secret] = {}
        dispatch = Dispatch(self._operation, self.reference, call, given, secrets, key)
        if progress is not None:
            dispatch = Dispatch(self._operation, self.reference, call, given, secrets, key, progress)
        try:
            async with asyncio.timeout(self._operation.timeout.total_seconds()):
                # Also where the operation needs none: what it is given is searched for all the connection holds.
                held.update(await self._connection.read_credentials())
                if (withheld := withhold(arguments, self.reference, held.values())) is not None:
                    return self._defect(FailureKind.VALIDATION, withheld.told)
                secrets.update(self._usable(self._operation.credentials, held))
                for name in self._operation.credentials:
                    dispatch.credential(name)
                attempt = await self._send(dispatch)
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            attempt = self._stopped(dispatch, RuntimeError("a part of the call was cancelled, the call was not"))
        except Exception as error:  # noqa: BLE001  (an author's code may raise anything; the request's state decides)
            attempt = self._stopped(dispatch, error)
        else:
            try:
                return redact_attempt(self._settled(dispatch, attempt), held.values())
            except Exception as error:  # noqa: BLE001  (an attempt of the wrong types breaks its own check)
                attempt = self._stopped(dispatch, error)
        return redact_attempt(attempt, held.values())

    def _stopped(self, dispatch: Dispatch[In], error: Exception) -> Attempt:
        """What an exception means: a defect before the request left; after it, never "failed" for a write."""
        late = isinstance(error, TimeoutError | NoAnswer)
        if not dispatch.has_left:
            if isinstance(error, CredentialsUnavailable):
                told = self._for_the_operator(error, dispatch.credentials)
                return self._defect(FailureKind.AUTHENTICATION, told)
            if isinstance(error, NeverSent):
                return Retry(self._failure(FailureKind.TRANSPORT, str(error)))
            if late:
                return Retry(self._failure(FailureKind.TRANSPORT, "the request did not leave in time."))
            return self._defect(FailureKind.LOCAL_DEFECT, self._logged(error, "before anything was sent"))
        if isinstance(error, NoAnswer):
            failure = self._failure(FailureKind.TRANSPORT, str(error))
        elif late:
            failure = self._failure(
                FailureKind.TRANSPORT,
                f"{self._operation.connector_id} did not answer within "
                f"{self._operation.timeout.total_seconds():.0f} s.",
            )
        else:
            failure = self._failure(FailureKind.LOCAL_DEFECT, self._logged(error, "after the request had been sent"))
        if self._operation.kind is OperationKind.MUTATION:
            return Uncertain(failure)
        return Retry(failure) if late else BranchTaken(DEFECT, None, None, failure)

    def _settled(self, dispatch: Dispatch[In], attempt: Attempt) -> Attempt:
        """The author's attempt, or what a broken one has to become."""
        is_mutation = self._operation.kind is OperationKind.MUTATION
        fault = fault_of(dispatch, attempt)
        if fault is not None:
            _LOG.error("%s on %s broke its contract: %s", self._operation.tool_name, self.reference, fault)
            failure = self._failure(
                FailureKind.LOCAL_DEFECT,
                f"The Connector {self._operation.connector_id!r} broke its contract: {fault}",
            )
            # A claim of success without a departure means that the author forgot to announce the request.
            sent = dispatch.has_left or (isinstance(attempt, BranchTaken) and attempt.output is not None)
            return Uncertain(failure) if is_mutation and sent else BranchTaken(DEFECT, None, None, failure)
        if isinstance(attempt, BranchTaken) and attempt.branch == UNCERTAIN and attempt.failure is not None:
            return Uncertain(attempt.failure)
        return attempt

    async def _inquire(
        self,
        call: Call,
        arguments: Mapping[str, Any],
        opened_at: datetime,
        ended_by: datetime,
        give_up_at: datetime | None,
    ) -> Reconciliation:
        if self._reconcile is None:
            return CannotTell(f"{self._operation.title} cannot tell afterwards whether it was carried out.")
        conclusive_from = ended_by + self._settling_time
        # Compared before the provider is read: what is read earlier may miss a request still under way.
        now = datetime.now(UTC)
        early = now < conclusive_from
        waits = max(give_up_at - now, timedelta(0)) if give_up_at is not None else timedelta(0)
        held: dict[str, Secret] = {}
        try:
            self._check_identity(call)
            given = self._parse(arguments)
            key = self._key(call, given)
            async with asyncio.timeout((waits + self._operation.reconcile_timeout).total_seconds()):
                names = self._operation.reconcile_credentials or self._operation.credentials
                held.update(await self._connection.read_credentials() if names else {})
                secrets = self._usable(names, held)
                found = await self._reconcile(
                    Inquiry(
                        self._operation,
                        self.reference,
                        call,
                        given,
                        secrets,
                        key,
                        opened_at,
                        ended_by,
                        give_up_at=now + waits,
                        is_early=early,
                    )
                )
            return redact_reconciliation(
                self._concluded(call, found, conclusive_from if early else None), held.values()
            )
        except CredentialsUnavailable as error:
            return CannotTell(f"It could not be looked up. {self._for_the_operator(error, held)}")
        except (InvalidInput, InvalidOperation) as error:
            return redact_reconciliation(CannotTell(str(error)), held.values())
        except (TimeoutError, NeverSent, NoAnswer):
            return look_again(f"{self._operation.connector_id} could not be asked: it did not answer.")
        except Exception as error:  # noqa: BLE001  (an author's code may raise anything)
            return CannotTell(self._logged(error, "while looking for the call"))

    def _concluded(self, call: Call, found: Reconciliation, wait_until: datetime | None) -> Reconciliation:
        if isinstance(found, FoundSent):
            return self._checked_find(call, found)
        if isinstance(found, FoundNotSent) and wait_until is not None:
            return CannotTell(
                "It is not there yet, and the request may still be under way until "
                f"{wait_until.isoformat(timespec='seconds')}.",
                retry_at=wait_until,
                too_early=True,
            )
        return found

    def _checked_find(self, call: Call, found: FoundSent) -> Reconciliation:
        branch = found.branch or self._operation.happy_branch
        declared = any(b.id == branch for b in self._operation.branches)
        if (
            not declared
            or not isinstance(found.output, self._operation.output)
            or found.receipt.call_id != call.call_id
            or found.receipt.provider != self._operation.connector_id
        ):
            return CannotTell(
                f"The Connector {self._operation.connector_id!r} broke its contract while looking for the call."
            )
        return FoundSent(found.output, found.receipt, branch)

    def _check_identity(self, call: Call) -> None:
        expected = (self._operation.connector_id, self._operation.operation_id)
        if (call.connector_id, call.operation_id) != expected:
            raise InvalidOperation(
                f"The Call names {call.connector_id}.{call.operation_id}, but the operation is {'.'.join(expected)}."
            )
        if self.reference.connector_id != self._operation.connector_id:
            raise InvalidOperation(f"Connection {self.reference} does not belong to {self._operation.connector_id!r}.")

    def _parse(self, arguments: Mapping[str, Any]) -> In:
        return parse_input(self._operation.tool_name, self._input_model, arguments)

    def _key(self, call: Call, given: In) -> str | None:
        if self._operation.kind is OperationKind.QUERY:
            return None
        key = call.idempotency_key
        if key is None:
            key = self._idempotency_key(call.call_id, given) if self._idempotency_key else ""
        if not key:
            return call.call_id
        if not key.strip():
            raise InvalidOperation(f"{self._operation.tool_name}: the idempotency key is only white space.")
        return key

    def _usable(self, names: tuple[str, ...], held: Mapping[str, Secret]) -> dict[str, Secret]:
        """Those of the held credentials that the operation names, or the stand-ins of those that are not held."""
        used = (self._operation.held_for(name, held) for name in names)
        return {name: held[name] for name in used if name is not None}

    def _failure(self, kind: FailureKind, message: str) -> Failure:
        return Failure(kind, self._operation.connector_id, self._operation.operation_id, message)

    def _defect(self, kind: FailureKind, message: str) -> BranchTaken:
        return BranchTaken(DEFECT, None, None, self._failure(kind, message))

    def _for_the_operator(self, error: CredentialsUnavailable, held: Mapping[str, Secret]) -> str:
        """What the model hears of it; its log tells the operator the rest: places of this machine, and what to do."""
        why = redact(str(error), held.values())
        _LOG.error("%s on %s: the credentials cannot be used. %s", self._operation.tool_name, self.reference, why)
        told = redact(error.told, held.values()) or f"The credentials of {self.reference} cannot be used."
        return f"{told} This is for whoever runs the agent, whose log says more; until then another call will not help."

    def _logged(self, error: Exception, when: str) -> str:
        # Type and place only: an exception's text and locals may hold a credential in some encoding.
        frames = traceback.extract_tb(error.__traceback__)
        place = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
        name = type(error).__name__
        _LOG.error("%s on %s: %s %s at %s", self._operation.tool_name, self.reference, name, when, place)
        return f"{self._operation.title} stopped on an unexpected {name} {when}; the Worker's log says where."


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


Result = TypeVar("Result")


async def _without_traceback(work: Awaitable[Result]) -> Result | None:
    """Awaits work; None when it was cancelled.

    The caller raises a new CancelledError: the old one's traceback leads through the HTTP client's frames,
    whose locals hold the request's headers.
    """
    try:
        return await work
    except asyncio.CancelledError:
        return None
