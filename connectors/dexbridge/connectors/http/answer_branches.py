"""The branches that the answers of every provider lead to, and which answer takes which."""

from __future__ import annotations

from typing import Any, Final

from dexbridge.connectors.contract.attempts.attempt import Attempt
from dexbridge.connectors.contract.attempts.dispatch import Dispatch
from dexbridge.connectors.contract.attempts.reconciliation import CannotTell, look_again
from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.contract.operation import DEFECT, UNCERTAIN, Branch, BranchOutcome, OperationKind
from dexbridge.connectors.http.answer_table import JudgedAnswer, Proof

PROVIDER_REJECTED: Final = "providerRejected"
INVALID_RESPONSE: Final = "invalidResponse"


def query_branches(provider: str) -> tuple[Branch, ...]:
    """How every Query can end besides the branches of its own."""
    told = "answer could not be understood; nothing was changed."
    return (
        _rejected(provider),
        Branch(INVALID_RESPONSE, BranchOutcome.FAILED, f"{provider}'s {told}"),
        _defect(provider),
    )


def mutation_branches(provider: str) -> tuple[Branch, ...]:
    """How every Mutation can end besides the branches of its own."""
    told = f"The request left, and whether {provider} carried it out is unknown."
    return _rejected(provider), Branch(UNCERTAIN, BranchOutcome.OUTCOME_UNKNOWN, told), _defect(provider)


def _rejected(provider: str) -> Branch:
    return Branch(PROVIDER_REJECTED, BranchOutcome.FAILED, f"{provider} refused the call.")


def _defect(provider: str) -> Branch:
    return Branch(DEFECT, BranchOutcome.FAILED, f"Refused before anything was sent to {provider}.")


def unsuccessful(dispatch: Dispatch[Any], answer: JudgedAnswer, *, refusal: str = PROVIDER_REJECTED) -> Attempt:
    """The attempt that an answer which is not DONE makes.

    A Query may always be made again; a Mutation that nobody knows the outcome of never, unless it is safe to retry.

    Args:
        dispatch: whose request was answered.
        answer: any but a DONE one.
        refusal: the failing branch that a refusal takes.
    """
    operation = dispatch.operation
    if answer.proof is Proof.NOT_DONE_YET:
        return dispatch.retry(answer.kind, answer.reason, answer.delay)
    if answer.proof is Proof.NOT_DONE_REFUSED:
        return dispatch.failed(refusal, answer.kind, answer.reason, dispatch.receipt(request_id=answer.request_id))
    if operation.kind is OperationKind.QUERY and answer.proof is not Proof.UNAVAILABLE:
        return dispatch.failed(INVALID_RESPONSE, answer.kind, answer.reason)
    if operation.kind is OperationKind.QUERY or operation.safe_to_retry:
        return dispatch.retry(answer.kind, answer.reason, answer.delay)
    return dispatch.uncertain(answer.kind, answer.reason)


def unread(answer: JudgedAnswer, what: str) -> CannotTell:
    """What a look concludes from an answer which is not DONE: nothing, and whether another look may tell more.

    Args:
        answer: any but a DONE one.
        what: a sentence on what could not be read.
    """
    told = f"{what} {answer.reason}"
    if answer.proof is Proof.NOT_DONE_REFUSED or answer.kind is FailureKind.RESPONSE_TOO_LARGE:
        return CannotTell(told)
    return look_again(told, answer.delay)
