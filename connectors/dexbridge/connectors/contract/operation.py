"""Operation: the definition of one call of a Connector, a manifest in code."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final

from pydantic import BaseModel

from dexbridge.connectors.contract.arguments.input_rules import input_faults
from dexbridge.connectors.contract.call import CONNECTOR_ID_PATTERN, OPERATION_ID_PATTERN
from dexbridge.connectors.contract.errors import InvalidOperation

_BRANCH_ID_PATTERN: Final = re.compile(r"[a-z][A-Za-z0-9]*")

DEFECT: Final = "defect"
UNCERTAIN: Final = "uncertain"


class OperationKind(StrEnum):
    """Whether an operation reads or writes."""

    QUERY = "query"
    MUTATION = "mutation"


class BranchOutcome(StrEnum):
    """What a branch means for the tool call."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    OUTCOME_UNKNOWN = "outcome_unknown"


@dataclass(frozen=True)
class Branch:
    """One way an operation can end."""

    id: str
    outcome: BranchOutcome
    description: str


@dataclass(frozen=True)
class RetryPolicy:
    """How long to wait between attempts that provably did nothing, and when to stop.

    The defaults are the house defaults of the contract; as an agent tool at most 3 attempts are made. A wait that the
    provider asks for takes the place of the policy's own.

    Args:
        initial: the wait after the first attempt.
        factor: what each wait is longer than the one before.
        maximum: the longest wait of the policy's own.
        attempts: how many are made.
        within: from the first attempt on; none begins after it.
    """

    initial: timedelta = timedelta(seconds=1)
    factor: float = 2.0
    maximum: timedelta = timedelta(seconds=30)
    attempts: int = 5
    within: timedelta = timedelta(minutes=2)

    def __post_init__(self) -> None:
        if self.initial <= timedelta(0) or self.maximum < self.initial or self.within <= timedelta(0):
            raise InvalidOperation("A RetryPolicy needs 0 < initial <= maximum and a positive `within`.")
        if self.factor < 1 or self.attempts < 1:
            raise InvalidOperation("A RetryPolicy needs a factor of at least 1 and at least 1 attempt.")

    def pause_after(self, attempt: int) -> timedelta:
        """The wait after the attempt of that number, counted from 1."""
        try:
            return min(self.initial * self.factor ** (attempt - 1), self.maximum)
        except OverflowError:
            return self.maximum


def _no_scopes() -> Mapping[str, tuple[str, ...]]:
    return {}


def _no_stand_ins() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What an operation is called, takes, gives and needs. Write `Query(...)` or `Mutation(...)`.

    Args:
        connector_id: as `^[a-z][a-z0-9-]{1,62}$`.
        operation_id: as `^[a-z][A-Za-z0-9]+$`.
        kind: set by `Query` and `Mutation`.
        title: a few words for people.
        description: what the model reads to decide on the call.
        input: an `OperationInput`: snake_case fields, no others accepted, models inside of it no less strict. What
            cannot be read back from its canonical form (sets, secrets, computed fields) is refused by name.
        output: what the happy branch carries.
        branches: every way it can end; `defect` always, `uncertain` on Mutations only.
        credentials: names of the credentials a dispatch needs.
        reconcile_credentials: names of those `reconcile` needs; empty means the same as `credentials`.
        stand_ins: for a credential the name of another that does where the connection holds only that one; it
            needs the same scopes.
        scopes: the provider's scopes for each credential.
        safe_to_retry: a Mutation whose repetition changes nothing further.
        can_reconcile: the operation can tell afterwards whether a Mutation was carried out.
        exposed_to_agents: may be offered as an agent tool.
        recommends_approval: suggests that a person approves each call.
        timeout: of one dispatch. What is not answered by then is looked up, or unknown.
        reconcile_timeout: of one look afterwards, which may take several requests.
        retry: for attempts that provably did nothing; as an agent tool at most 3 are made.

    Raises:
        InvalidOperation: the definition breaks the contract.
    """

    connector_id: str
    operation_id: str
    kind: OperationKind
    title: str
    description: str
    input: type[BaseModel]
    output: type[BaseModel]
    branches: tuple[Branch, ...]
    credentials: tuple[str, ...] = ()
    reconcile_credentials: tuple[str, ...] = ()
    stand_ins: Mapping[str, str] = field(default_factory=_no_stand_ins)
    scopes: Mapping[str, tuple[str, ...]] = field(default_factory=_no_scopes)
    safe_to_retry: bool = False
    can_reconcile: bool = False
    exposed_to_agents: bool = False
    recommends_approval: bool = False
    timeout: timedelta = timedelta(seconds=30)
    reconcile_timeout: timedelta = timedelta(seconds=30)
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def __post_init__(self) -> None:
        fault = self._first_fault()
        if fault:
            raise InvalidOperation(f"Operation {self.connector_id}.{self.operation_id}: {fault}")
        faults = input_faults(self.input)
        if faults:
            raise InvalidOperation(
                f"Operation {self.connector_id}.{self.operation_id}: its arguments cannot be offered. "
                f"{'; '.join(faults)}."
            )

    def _first_fault(self) -> str | None:
        ids = [branch.id for branch in self.branches]
        unknown = [branch.id for branch in self.branches if branch.outcome is BranchOutcome.OUTCOME_UNKNOWN]
        is_query = self.kind is OperationKind.QUERY
        malformed = [branch_id for branch_id in ids if not _BRANCH_ID_PATTERN.fullmatch(branch_id)]
        checks: tuple[tuple[bool, str], ...] = (
            (
                not CONNECTOR_ID_PATTERN.fullmatch(self.connector_id),
                f"the connector ID must match {CONNECTOR_ID_PATTERN.pattern}.",
            ),
            (
                not OPERATION_ID_PATTERN.fullmatch(self.operation_id),
                f"the operation ID must match {OPERATION_ID_PATTERN.pattern}.",
            ),
            (
                not self.title.strip() or not self.description.strip(),
                "title and description must not be blank; the model reads the description.",
            ),
            (bool(malformed), f"branch IDs are lower camel case, not {malformed!r}."),
            (len(set(ids)) != len(ids), "each branch is declared once."),
            (
                not any(branch.outcome is BranchOutcome.SUCCEEDED for branch in self.branches),
                "declare the branch that means success.",
            ),
            (
                not any(b.id == DEFECT and b.outcome is BranchOutcome.FAILED for b in self.branches),
                "declare the branch `defect` with outcome FAILED.",
            ),
            (is_query and (UNCERTAIN in ids or bool(unknown)), "a Query has no uncertain branch."),
            (
                not is_query and unknown != [UNCERTAIN],
                "a Mutation declares exactly one branch with outcome OUTCOME_UNKNOWN, `uncertain`.",
            ),
            (
                is_query and (self.safe_to_retry or self.can_reconcile),
                "safe_to_retry and can_reconcile belong to Mutations.",
            ),
            (
                self.input.model_config.get("extra") != "forbid",
                "its input must refuse unknown fields; derive it from OperationInput.",
            ),
            (
                bool(set(self.stand_ins) - {*self.credentials, *self.reconcile_credentials}),
                "stand_ins name a credential that the operation does not list.",
            ),
            (
                bool(set(self.scopes) - {*self.credentials, *self.reconcile_credentials}),
                "scopes name a credential that the operation does not list.",
            ),
            (min(self.timeout, self.reconcile_timeout) <= timedelta(0), "the timeouts must be positive."),
        )
        return next((text for broken, text in checks if broken), None)

    @property
    def tool_name(self) -> str:
        """The agent tool's name, such as `slack_post_thread_reply`."""
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", self.operation_id).lower()
        return f"{self.connector_id.replace('-', '_')}_{snake}"

    @property
    def happy_branch(self) -> str:
        """The first branch that means success."""
        return next(b.id for b in self.branches if b.outcome is BranchOutcome.SUCCEEDED)

    def held_for(self, credential: str, held: Container[str]) -> str | None:
        """Which credential a connection that holds these uses for one of ours: itself, its stand-in, or none."""
        names = (credential, self.stand_ins.get(credential, credential))
        return next((name for name in names if name in held), None)

    def outcome_of(self, branch_id: str) -> BranchOutcome:
        """What a branch means; an unlisted one fails a Query and leaves a Mutation's outcome unknown."""
        for branch in self.branches:
            if branch.id == branch_id:
                return branch.outcome
        if self.kind is OperationKind.QUERY:
            return BranchOutcome.FAILED
        return BranchOutcome.OUTCOME_UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Query(Operation):
    """An operation that only reads. It has no idempotency key and is always safe to make again."""

    kind: OperationKind = field(default=OperationKind.QUERY, init=False)


@dataclass(frozen=True, kw_only=True)
class Mutation(Operation):
    """An operation that writes. Unless `safe_to_retry`, a request that left is never sent again."""

    kind: OperationKind = field(default=OperationKind.MUTATION, init=False)
