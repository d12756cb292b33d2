"""After a lost answer, `reconcile` says what is true, or that it cannot tell."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final

from dexbridge.connectors.attempt import Uncertain
from dexbridge.connectors.bound_operation import BoundOperation
from dexbridge.connectors.reconciliation import CannotTell, FoundNotSent, FoundSent, Reconciliation
from dexbridge.connectors.testing.conformance.sequences import play_sequences
from dexbridge.connectors.testing.conformance.stage import IMPATIENT, PATIENT, Scenes, Server, Stage, require
from dexbridge.connectors.testing.conformance.troubles import Trouble
from dexbridge.connectors.testing.faults import DropAfterPost, DropWithoutPost, Fault
from dexbridge.connectors.testing.local_server import ANY_REQUEST

CLOCK_DIFFERENCE: Final = timedelta(seconds=20)
"""How far a provider's clock may differ from ours, unnoticed."""

LONG_AGO: Final = timedelta(minutes=10)

_MOST_READS: Final = 20
_CROWD: Final = 40


class ReconcileChecks(Scenes[Server]):
    """Mutations that say `can_reconcile`."""

    def test_what_was_carried_out_is_found(self, reconcilable_id: str) -> None:
        for difference in (timedelta(0), CLOCK_DIFFERENCE, -CLOCK_DIFFERENCE):

            async def scene(stage: Stage[Server], difference: timedelta = difference) -> Reconciliation:
                before, after = await self._lose(stage, reconcilable_id, DropAfterPost())
                sent = len(stage.server.requests)
                found = await self._look(stage, reconcilable_id, before - difference, after - difference)
                reads = len(stage.server.requests) - sent
                require(1 <= reads <= _MOST_READS, f"reconcile made {reads} requests; a handful is enough.")
                require(self.count_written(stage.server) == 1, "reconcile only reads; it must never write.")
                return found

            found = self.play(scene)
            require(
                isinstance(found, FoundSent) and found.receipt.provider_object_id,
                f"{reconcilable_id} was carried out, its answer was lost, and the provider's clock differs by "
                f"{difference.total_seconds():.0f} s: reconcile must find it and name the object, but says {found}",
            )

    def test_what_was_not_carried_out_is_not_found(self, reconcilable_id: str) -> None:
        async def scene(stage: Stage[Server]) -> tuple[Reconciliation, Reconciliation]:
            before, after = await self._lose(stage, reconcilable_id, DropWithoutPost())
            late = await self._look(stage, reconcilable_id, before - LONG_AGO, after - LONG_AGO)
            early = await self._look(stage, reconcilable_id, before, after + timedelta(minutes=1))
            return late, early

        late, early = self.play(scene)
        require(not isinstance(late, FoundSent), f"{reconcilable_id} was not carried out, but reconcile says {late}")
        if self.example(reconcilable_id).proves_not_sent:
            require(
                isinstance(late, FoundNotSent),
                f"{reconcilable_id} was not carried out and the provider shows everything: reconcile should say "
                f"FoundNotSent, not {late}. If this provider can never prove it, set proves_not_sent=False.",
            )
        require(not isinstance(early, FoundNotSent), "While the request may be under way nobody can say `not sent`.")

    def test_the_same_call_of_another_session_is_not_ours(self, reconcilable_id: str) -> None:
        async def scene(stage: Stage[Server]) -> Reconciliation:
            before = datetime.now(UTC)
            await stage.dispatch(reconcilable_id, self.example(reconcilable_id).arguments, flow="another")
            return await self._look(stage, reconcilable_id, before, datetime.now(UTC))

        found = self.play(scene)
        require(
            not isinstance(found, FoundSent),
            f"Another session made the same call; reconcile takes it for ours: {found}. Compare the Call ID.",
        )

    def test_it_is_found_among_many(self, reconcilable_id: str) -> None:
        async def scene(stage: Stage[Server]) -> Reconciliation:
            arguments = self.example(reconcilable_id).arguments
            flows = [f"another-{number}" for number in range(_CROWD)]
            await asyncio.gather(*(stage.dispatch(reconcilable_id, arguments, flow=flow) for flow in flows[::2]))
            before, after = await self._lose(stage, reconcilable_id, DropAfterPost())
            await asyncio.gather(*(stage.dispatch(reconcilable_id, arguments, flow=flow) for flow in flows[1::2]))
            return await self._look(stage, reconcilable_id, before, after)

        found = self.play(scene)
        require(
            not isinstance(found, FoundNotSent),
            f"{reconcilable_id} was carried out among {_CROWD} others, but reconcile says it was not: read every "
            "page, or say CannotTell.",
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
        if not trouble.may_be_read:
            for loss, untrue in ((DropAfterPost(), FoundNotSent), (DropWithoutPost(), (FoundSent, FoundNotSent))):

                async def scene(stage: Stage[Server], loss: Fault = loss) -> Reconciliation:
                    before, after = await self._lose(stage, operation_id, loss)
                    stage.server.fail_always(trouble.with_status(200))
                    found = await self._look(stage, operation_id, before, after)
                    if isinstance(found, CannotTell) and found.retry_at is not None:
                        # Too early for this provider; what counts is what it says later.
                        found = await self._look(stage, operation_id, before - LONG_AGO, after - LONG_AGO)
                    return found

                found = self.play(scene, http_timeout=IMPATIENT if trouble.is_late else PATIENT)
                require(
                    not isinstance(found, untrue),
                    f"The provider could not be read ({trouble.name}), so reconcile must say CannotTell, not {found}",
                )

    async def _lose(self, stage: Stage[Server], operation_id: str, loss: Fault) -> tuple[datetime, datetime]:
        before = datetime.now(UTC)
        stage.server.fail_next(ANY_REQUEST, loss)
        attempt = await stage.dispatch(operation_id, self.example(operation_id).arguments)
        require(isinstance(attempt, Uncertain), f"A lost answer makes {operation_id} uncertain, not {attempt}")
        return before, datetime.now(UTC)

    async def _look(
        self, stage: Stage[Server], operation_id: str, opened_at: datetime, ended_by: datetime
    ) -> Reconciliation:
        bound: BoundOperation = stage.bound[operation_id]
        return await bound.reconcile(
            stage.call(operation_id), self.example(operation_id).arguments, opened_at=opened_at, ended_by=ended_by
        )
