"""After a lost answer, `reconcile` says what is true, or that it cannot tell."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from dexbridge.connectors.contract.attempts.reconciliation import CannotTell, FoundNotSent, FoundSent
from dexbridge.connectors.testing.conformance.inquiries import MOST_READS, Look, look, lose
from dexbridge.connectors.testing.conformance.sequences import play_sequences
from dexbridge.connectors.testing.conformance.stage import IMPATIENT, PATIENT, Scenes, Server, Stage, require
from dexbridge.connectors.testing.conformance.troubles import Trouble
from dexbridge.connectors.testing.faults import DropAfterPost, DropWithoutPost, Fault

CLOCK_DIFFERENCE: Final = timedelta(seconds=20)
"""How far a provider's clock may differ from ours, unnoticed."""

LONG_AGO: Final = timedelta(minutes=10)


class ReconcileChecks(Scenes[Server]):
    """Mutations that say `can_reconcile`."""

    def test_what_was_carried_out_is_found(self, reconcilable_id: str) -> None:
        example = self.example(reconcilable_id)
        for difference in (timedelta(0), CLOCK_DIFFERENCE, -CLOCK_DIFFERENCE):

            async def scene(stage: Stage[Server], difference: timedelta = difference) -> Look:
                before, after = await lose(stage, reconcilable_id, example, DropAfterPost())
                found = await look(stage, reconcilable_id, example, before - difference, after - difference)
                require(1 <= found.reads <= MOST_READS, f"reconcile made {found.reads} requests; a handful is enough.")
                require(self.count_written(stage.server) == 1, "reconcile only reads; it must never write.")
                return found

            found = self.play(scene)
            require(
                isinstance(found.found, FoundSent) and found.found.receipt.provider_object_id,
                f"{reconcilable_id} was carried out, its answer was lost, and the provider's clock differs by "
                f"{difference.total_seconds():.0f} s: reconcile must find it and name the object, but says {found}. "
                "Send the Call ID (dispatch.call.call_id) with the write, and look for the object that carries it.",
            )

    def test_what_was_not_carried_out_is_not_found(self, reconcilable_id: str) -> None:
        example = self.example(reconcilable_id)

        async def scene(stage: Stage[Server]) -> tuple[Look, Look]:
            before, after = await lose(stage, reconcilable_id, example, DropWithoutPost())
            late = await look(stage, reconcilable_id, example, before - LONG_AGO, after - LONG_AGO)
            early = await look(stage, reconcilable_id, example, before, after + timedelta(minutes=1))
            return late, early

        late, early = self.play(scene)
        require(
            not isinstance(late.found, FoundSent), f"{reconcilable_id} was not carried out, but reconcile says {late}"
        )
        if example.proves_not_sent:
            require(
                isinstance(late.found, FoundNotSent),
                f"{reconcilable_id} was not carried out and the provider shows everything: reconcile should say "
                f"FoundNotSent, not {late}. If this provider can never prove it, set proves_not_sent=False.",
            )
        require(
            not isinstance(early.found, FoundNotSent), "While the request may be under way nobody can say `not sent`."
        )

    def test_the_same_call_of_another_session_is_not_ours(self, reconcilable_id: str) -> None:
        example = self.example(reconcilable_id)

        async def scene(stage: Stage[Server]) -> Look:
            before = datetime.now(UTC)
            await stage.dispatch(reconcilable_id, example.arguments, flow="another")
            return await look(stage, reconcilable_id, example, before, datetime.now(UTC))

        found = self.play(scene)
        require(
            not isinstance(found.found, FoundSent),
            f"Another session made the same call; reconcile takes it for ours: {found}. Compare the Call ID.",
        )

    def test_what_cannot_be_read_proves_nothing(self, reconcilable_id: str, unclear: Trouble) -> None:
        self._check_unread(reconcilable_id, unclear)

    def test_what_may_not_be_read_proves_nothing(self, reconcilable_id: str, refusal: Trouble) -> None:
        self._check_unread(reconcilable_id, refusal)

    def test_random_faults_cause_no_duplicate_and_no_untruth(self, reconcilable_id: str) -> None:
        tally = play_sequences(self, reconcilable_id, count=10, seed=1)
        require(
            not tally.duplicates and not tally.wrong,
            f"{reconcilable_id} against random faults: {tally}\n" + "\n".join(tally.wrong),
        )

    def _check_unread(self, operation_id: str, trouble: Trouble) -> None:
        example = self.example(operation_id)
        if not trouble.may_be_read:
            for loss, untrue in ((DropAfterPost(), FoundNotSent), (DropWithoutPost(), (FoundSent, FoundNotSent))):

                async def scene(stage: Stage[Server], loss: Fault = loss) -> Look:
                    before, after = await lose(stage, operation_id, example, loss)
                    stage.server.fail_always(trouble.with_status(200))
                    found = await look(stage, operation_id, example, before, after)
                    if isinstance(found.found, CannotTell) and found.says_not_sent:
                        # Too early for this provider; what counts is what it says later.
                        found = await look(stage, operation_id, example, before - LONG_AGO, after - LONG_AGO)
                    return found

                found = self.play(scene, http_timeout=IMPATIENT if trouble.is_late else PATIENT)
                require(
                    not isinstance(found.found, untrue),
                    f"The provider could not be read ({trouble.name}), so reconcile must say CannotTell, not {found}",
                )
