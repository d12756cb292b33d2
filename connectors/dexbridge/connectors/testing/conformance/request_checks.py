"""One request per dispatch, a retry only when nothing was done, and no exception that decides an outcome."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final
from weakref import WeakKeyDictionary

import pytest

from dexbridge.connectors.contract.attempts.attempt import Attempt, BranchTaken, Retry, Uncertain
from dexbridge.connectors.contract.call import Call
from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.contract.operation import DEFECT, BranchOutcome, OperationKind
from dexbridge.connectors.testing.conformance.stage import (
    IMPATIENT,
    PATIENT,
    Scenes,
    Server,
    Stage,
    complain,
    require,
)
from dexbridge.connectors.testing.conformance.troubles import Trouble
from dexbridge.connectors.testing.conformance.words import short
from dexbridge.connectors.testing.faults import Answer
from dexbridge.connectors.testing.local_server import ANY_REQUEST

_RIGHT_STATUSES: Final = WeakKeyDictionary[type, dict[str, int]]()


class RequestChecks(Scenes[Server]):
    """What becomes of one request."""

    def test_an_unclear_answer_is_never_a_success_and_never_sent_again(
        self, operation_id: str, unclear: Trouble, caplog: pytest.LogCaptureFixture
    ) -> None:
        operation, example = self.operation(operation_id), self.example(operation_id)
        if unclear.spoils_body and not example.reads_answer:
            pytest.skip("the operation does not read the answer's body")
        attempt = self._troubled(operation_id, unclear)
        self._check_code_did_not_raise(operation_id, unclear, attempt, caplog)
        if operation.kind is OperationKind.MUTATION:
            allowed = (Uncertain, Retry) if operation.safe_to_retry else (Uncertain,)
            hint = " If a status alone says that it was, set reads_answer=False." if unclear.spoils_body else ""
            require(
                isinstance(attempt, allowed),
                f"After {unclear.name!r} nobody knows whether {operation_id} was carried out, so it must be "
                f"uncertain (dispatch.uncertain), not {short(attempt)}.{hint}",
            )
        elif not unclear.may_be_read:
            self._check_not_read(operation_id, unclear, attempt)

    def test_a_refusal_is_no_success_and_no_retry(
        self, operation_id: str, refusal: Trouble, caplog: pytest.LogCaptureFixture
    ) -> None:
        attempt = self._troubled(operation_id, refusal)
        self._check_code_did_not_raise(operation_id, refusal, attempt, caplog)
        operation = self.operation(operation_id)
        is_write = operation.kind is OperationKind.MUTATION and not operation.safe_to_retry
        if is_write and refusal.name != "HTTP 429":
            require(
                not isinstance(attempt, Retry),
                f"{operation_id} must not be sent again after {refusal.name}; take a failing branch.",
            )
        self._check_not_read(operation_id, refusal, attempt)

    def test_a_limit_waits_as_long_as_the_provider_asks(self, operation_id: str) -> None:
        async def scene(stage: Stage[Server]) -> Attempt:
            body = '{"error":"rate limit","message":"rate limit"}'
            stage.server.fail_next(ANY_REQUEST, Answer(429, body, headers={"Retry-After": "2"}))
            return await stage.dispatch(operation_id, self.example(operation_id).arguments)

        attempt = self.play(scene)
        if isinstance(attempt, Retry):
            require(
                attempt.delay == timedelta(seconds=2),
                f"The provider asked for 2 s, {operation_id} waits {attempt.delay}: use parse_retry_after.",
            )

    def _troubled(self, operation_id: str, trouble: Trouble) -> Attempt:
        right = self._right_status(operation_id)

        async def scene(stage: Stage[Server]) -> Attempt:
            stage.server.fail_next(ANY_REQUEST, trouble.with_status(right))
            attempt = await stage.dispatch(operation_id, self.example(operation_id).arguments)
            count = len(stage.server.requests)
            require(count == 1, f"One dispatch is one request; with {trouble.name!r} {operation_id} made {count}.")
            return attempt

        return self.play(scene, http_timeout=IMPATIENT if trouble.is_late else PATIENT)

    def _right_status(self, operation_id: str) -> int:
        async def scene(stage: Stage[Server]) -> int:
            await stage.dispatch(operation_id, self.example(operation_id).arguments)
            require(
                stage.server.answered,
                f"The example of {operation_id} must reach the local server; see the check of its happy branch.",
            )
            return stage.server.answered[-1].status

        known = _RIGHT_STATUSES.setdefault(type(self), {})
        if operation_id not in known:
            known[operation_id] = self.play(scene)
        return known[operation_id]

    @staticmethod
    def _check_code_did_not_raise(
        operation_id: str, trouble: Trouble, attempt: Attempt, caplog: pytest.LogCaptureFixture
    ) -> None:
        failure = attempt.failure
        if failure is not None and failure.kind is FailureKind.LOCAL_DEFECT:
            complain(
                f"The code of {operation_id} broke on {trouble.name!r}: check what came before using it.\n"
                f"{failure.message}\n{caplog.text}"
            )

    def _check_not_read(self, operation_id: str, trouble: Trouble, attempt: Attempt) -> None:
        if isinstance(attempt, BranchTaken):
            outcome = self.operation(operation_id).outcome_of(attempt.branch)
            require(
                outcome is not BranchOutcome.SUCCEEDED,
                f"{operation_id} takes {trouble.name!r} for a success ({attempt.branch}): check status and body.",
            )

    def test_what_could_not_be_sent_is_a_retry(self, operation_id: str) -> None:
        async def scene(stage: Stage[Server]) -> Attempt:
            await stage.server.stop()
            return await stage.dispatch(operation_id, self.example(operation_id).arguments)

        attempt = self.play(scene)
        require(
            isinstance(attempt, Retry),
            f"The provider could not be reached, so nothing was sent; {operation_id} must end as a retry, not "
            f"{short(attempt)}. Let HttpPool's errors through.",
        )

    def test_after_its_deadline_a_call_is_not_sent(self, operation_id: str) -> None:
        async def scene(stage: Stage[Server]) -> tuple[Attempt, int]:
            bound = stage.bound[operation_id]
            past = datetime.now(UTC) - timedelta(milliseconds=1)
            call = Call("late", "CallTool-1", bound.operation.connector_id, operation_id, dispatch_before=past)
            attempt = await bound.dispatch(call, self.example(operation_id).arguments)
            return attempt, len(stage.server.requests)

        attempt, count = self.play(scene)
        require(
            count == 0 and isinstance(attempt, Retry),
            f"{operation_id} sent after dispatch_before: give HttpPool leave=dispatch.leave.",
        )

    def test_without_a_credential_nothing_is_sent(self, operation_id: str) -> None:
        async def scene(stage: Stage[Server], name: str) -> tuple[Attempt, int]:
            for one in (name, self.operation(operation_id).stand_ins.get(name, name)):
                stage.held.set_credential(one, None)
            attempt = await stage.dispatch(operation_id, self.example(operation_id).arguments)
            return attempt, len(stage.server.requests)

        for name in self.operation(operation_id).credentials:

            async def without(stage: Stage[Server], name: str = name) -> tuple[Attempt, int]:
                return await scene(stage, name)

            attempt, count = self.play(without)
            require(count == 0, f"{operation_id} sent a request without its {name}.")
            require(
                isinstance(attempt, BranchTaken)
                and attempt.branch == DEFECT
                and attempt.failure is not None
                and name in attempt.failure.message,
                f"Without its {name} {operation_id} must end as `defect` and name it, not as {short(attempt)}.",
            )

    def test_many_calls_at_once_are_kept_apart(self, operation_id: str) -> None:
        async def scene(stage: Stage[Server]) -> None:
            flows = [f"flow-{number}" for number in range(10)]
            example = self.example(operation_id)
            attempts = await asyncio.gather(
                *(
                    stage.dispatch(operation_id, example.crowd_arguments(number), flow=flow)
                    for number, flow in enumerate(flows)
                )
            )
            for flow, attempt in zip(flows, attempts, strict=True):
                if isinstance(attempt, BranchTaken) and attempt.receipt is not None:
                    right = attempt.receipt.call_id == stage.call(operation_id, flow=flow).call_id
                    require(right, "Calls made at the same time got each other's receipts; keep no state of a call.")
            require(len(stage.server.requests) == len(flows), "Ten calls are ten requests.")

        self.play(scene)
