"""`reconcile` among many other calls: every page is read, or it says that it cannot tell."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from dexbridge.connectors.contract.attempts.attempt import BranchTaken
from dexbridge.connectors.contract.attempts.reconciliation import FoundSent
from dexbridge.connectors.contract.operation import BranchOutcome
from dexbridge.connectors.testing.conformance.inquiries import MOST_READS, Look, look, lose
from dexbridge.connectors.testing.conformance.stage import Scenes, Server, Stage, complain, require
from dexbridge.connectors.testing.conformance.words import shown
from dexbridge.connectors.testing.faults import DropAfterPost

_DOUBLINGS: Final = 5
_AT_ONCE: Final = 40


@dataclass(frozen=True)
class Crowd:
    """So many other calls were carried out, and a look for one that was not made said this.

    Args:
        size: how many.
        look: the look.
        share: characters that were shown to the look because of the crowd.
        earlier: the crowd half as large, None of the first.
    """

    size: int
    look: Look
    share: int
    earlier: Crowd | None

    @property
    def is_listed(self) -> bool:
        """The look reads others' objects too; one that searches for the Call ID is shown no more than before."""
        return self.share > self.size

    @property
    def is_cut_short(self) -> bool:
        """Twice the crowd, and the look was shown hardly more of it."""
        return self.earlier is not None and self.share < 1.4 * self.earlier.share


class CrowdChecks(Scenes[Server]):
    """Mutations that say `can_reconcile`, at a provider that many others write to."""

    def test_it_is_found_among_many(self, reconcilable_id: str) -> None:
        example = self.example(reconcilable_id)

        async def after_others(stage: Stage[Server]) -> tuple[int, Look]:
            size = 0
            async for crowd in self._growing(stage, reconcilable_id):
                size = crowd.size
                if crowd.look.reads > 1 or not crowd.is_listed or not crowd.look.says_not_sent or crowd.is_cut_short:
                    break
            before, after = await lose(stage, reconcilable_id, example, DropAfterPost())
            return size, await look(stage, reconcilable_id, example, before, after)

        size, last = self.play(after_others)

        async def before_others(stage: Stage[Server]) -> Look:
            before, after = await lose(stage, reconcilable_id, example, DropAfterPost())
            await self._add(stage, reconcilable_id, range(size))
            return await look(stage, reconcilable_id, example, before, after)

        for place, found in (("after", last), ("before", self.play(before_others))):
            require(
                not found.says_not_sent,
                f"{reconcilable_id} was carried out {place} {size} other calls, but reconcile says that it was not, "
                f"after {found.reads} request(s): read every page, or say CannotTell.",
            )

    def test_what_was_not_read_is_not_called_absent(self, reconcilable_id: str) -> None:
        async def scene(stage: Stage[Server]) -> None:
            last: Crowd | None = None
            async for crowd in self._growing(stage, reconcilable_id):
                found = crowd.look
                require(
                    not isinstance(found.found, FoundSent),
                    f"Others made {crowd.size} calls of {reconcilable_id}; reconcile takes one of them for ours: "
                    f"{found}. Compare the Call ID.",
                )
                require(
                    found.reads <= MOST_READS,
                    f"reconcile made {found.reads} requests among {crowd.size} other calls; stop after a handful of "
                    "pages and say CannotTell.",
                )
                if not found.says_not_sent or not crowd.is_listed:
                    return
                require(
                    not crowd.is_cut_short,
                    f"Among {crowd.size} other calls reconcile reads hardly more than among half of them "
                    f"({found.reads} request(s)), and says that {reconcilable_id} was not carried out: what it did "
                    "not read may hold it. Read every page, and say CannotTell when there are too many.",
                )
                last = crowd
            if last is not None and last.look.reads < 2:
                complain(
                    f"Among {last.size} other calls reconcile still reads everything in one request, so this crowd "
                    "is too small to show what it does with a second page: ask for smaller pages, or set crowd_size "
                    f"in the Example of {reconcilable_id} to more than a page holds."
                )

        self.play(scene)

    async def _growing(self, stage: Stage[Server], operation_id: str) -> AsyncIterator[Crowd]:
        """A crowd that doubles each time, and what a look for a call that was never made says in it."""
        example = self.example(operation_id)
        began = datetime.now(UTC)
        alone = await look(stage, operation_id, example, began, datetime.now(UTC))
        crowd: Crowd | None = None
        for step in range(_DOUBLINGS if example.crowd_size else 0):
            size = example.crowd_size * 2**step
            await self._add(stage, operation_id, range(crowd.size if crowd else 0, size))
            found = await look(stage, operation_id, example, began, datetime.now(UTC))
            crowd = Crowd(size, found, found.size - alone.size, crowd)
            yield crowd

    async def _add(self, stage: Stage[Server], operation_id: str, numbers: range) -> None:
        example, operation = self.example(operation_id), self.operation(operation_id)
        for start in range(numbers.start, numbers.stop, _AT_ONCE):
            part = range(start, min(start + _AT_ONCE, numbers.stop))
            attempts = await asyncio.gather(
                *(
                    stage.dispatch(operation_id, example.crowd_arguments(number), flow=f"another-{number}")
                    for number in part
                )
            )
            for number, attempt in zip(part, attempts, strict=True):
                is_done = (
                    isinstance(attempt, BranchTaken) and operation.outcome_of(attempt.branch) is BranchOutcome.SUCCEEDED
                )
                require(
                    is_done,
                    f"Many calls of {operation_id} were to be carried out, but number {number} ended as "
                    f"{shown(attempt)}, so there is no crowd to find one among. Give its Example "
                    "`crowd=lambda number: {...}` with arguments that the local server takes for each number (0, 1, 2, "
                    "…), or crowd_size=0 if a second call can never be carried out.",
                )
