"""Every branch is reached, and means what the definition says."""

from __future__ import annotations

import json

from dexbridge.connectors.contract.attempts.attempt import Attempt, BranchTaken, Uncertain
from dexbridge.connectors.contract.attempts.rendering import MODEL_TEXT_LIMIT, render_for_model
from dexbridge.connectors.contract.operation import DEFECT, UNCERTAIN, BranchOutcome, OperationKind
from dexbridge.connectors.testing.conformance.stage import Scenes, Server, Stage, complain, require
from dexbridge.connectors.testing.conformance.words import shown
from dexbridge.connectors.testing.faults import DropAfterPost, Fault
from dexbridge.connectors.testing.local_server import ANY_REQUEST


class BranchChecks(Scenes[Server]):
    """The branches of each operation."""

    def test_every_branch_is_reached(self, operation_id: str, branch_id: str) -> None:
        operation = self.operation(operation_id)
        written, attempt = self.play(lambda stage: self._reach(stage, operation_id, branch_id))
        taken = _branch_of(attempt)
        require(
            taken == branch_id,
            f"{operation_id} was to take the branch {branch_id!r}, but ended as {shown(attempt)}: "
            f"{self._mend(operation_id, branch_id)}",
        )
        text = render_for_model(operation, attempt)
        require(0 < len(text) <= MODEL_TEXT_LIMIT, "The model must be given a text, within its limit.")
        outcome = operation.outcome_of(branch_id)
        is_mutation = operation.kind is OperationKind.MUTATION
        if outcome is BranchOutcome.SUCCEEDED:
            self._check_success(attempt, is_mutation=is_mutation, is_happy=branch_id == operation.happy_branch)
        if outcome is BranchOutcome.FAILED:
            require(written == 0, f"The branch {branch_id!r} says that it failed, but {written} was written.")
            message = attempt.failure.message if attempt.failure is not None else ""
            require(len(message.split()) >= 3, f"The branch {branch_id!r} must say in plain words what would help.")
        if branch_id == operation.happy_branch:
            wanted = 1 if is_mutation else 0
            require(written == wanted, f"{operation_id} succeeded, but wrote {written} things, not {wanted}.")

    def _mend(self, operation_id: str, branch_id: str) -> str:
        if branch_id == self.operation(operation_id).happy_branch:
            return (
                "compare the request that `send` makes with what `carry_out` of the local server takes and answers, "
                "and the Example's arguments with what the server holds."
            )
        if branch_id == DEFECT:
            return "a call without its first credential, or with an unknown argument, must not reach the provider."
        if branch_id == UNCERTAIN:
            return "the connection was closed before the answer; let HttpPool's errors through."
        return "correct what the Example's `branches` says leads there, or what `send` makes of that answer."

    @staticmethod
    def _check_success(attempt: Attempt, *, is_mutation: bool, is_happy: bool) -> None:
        if not isinstance(attempt, BranchTaken) or attempt.output is None:
            complain(f"A success carries an output: dispatch.took(branch, output, receipt), not {shown(attempt)}.")
        json.dumps(attempt.output.model_dump(mode="json"))
        if is_mutation and is_happy:
            require(
                attempt.receipt is not None and attempt.receipt.provider_object_id,
                "The receipt of a write names the object that was written: dispatch.receipt(object_id).",
            )

    async def _reach(self, stage: Stage[Server], operation_id: str, branch_id: str) -> tuple[int, Attempt]:
        operation, example = self.operation(operation_id), self.example(operation_id)
        arguments = dict(example.arguments)
        before = self.count_written(stage.server)
        if branch_id == UNCERTAIN:
            stage.server.fail_next(ANY_REQUEST, DropAfterPost())
        elif branch_id == DEFECT and operation.credentials:
            name = operation.credentials[0]
            for one in (name, operation.stand_ins.get(name, name)):
                stage.held.set_credential(one, None)
        elif branch_id == DEFECT:
            arguments["no_such_argument"] = 1
        elif branch_id != operation.happy_branch:
            way = example.branches.get(branch_id)
            if way is None:
                complain(
                    f"Say how {operation_id} takes the branch {branch_id!r}: add it to the Example's `branches`, with "
                    "a fault of the local server or the arguments that lead there."
                )
            if isinstance(way, Fault):
                stage.server.fail_next(ANY_REQUEST, way)
            else:
                arguments.update(way)
        attempt = await stage.dispatch(operation_id, arguments)
        return self.count_written(stage.server) - before, attempt

    def test_the_example_names_declared_branches_only(self, operation_id: str) -> None:
        declared = {branch.id for branch in self.operation(operation_id).branches}
        unknown = sorted(set(self.example(operation_id).branches) - declared)
        require(not unknown, f"The Example of {operation_id} names branches that are not declared: {unknown}.")


def _branch_of(attempt: Attempt) -> str:
    if isinstance(attempt, BranchTaken):
        return attempt.branch
    return UNCERTAIN if isinstance(attempt, Uncertain) else "a retry"
