"""Random sequences of faults: no write is ever made twice, and every outcome that is told is true."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dexbridge.connectors.contract.attempts.attempt import Attempt, BranchTaken, Retry, Uncertain
from dexbridge.connectors.contract.attempts.reconciliation import CannotTell, FoundNotSent, FoundSent, Reconciliation
from dexbridge.connectors.contract.operation import BranchOutcome
from dexbridge.connectors.testing.conformance.stage import IMPATIENT, LATE, Scenes, Stage
from dexbridge.connectors.testing.conformance.troubles import REFUSALS, UNCLEAR, Trouble
from dexbridge.connectors.testing.faults import PostLate
from dexbridge.connectors.testing.local_server import ANY_REQUEST

_ATTEMPTS: Final = 3
_WRITES: Final = (*UNCLEAR, *REFUSALS, Trouble("carried out too late", PostLate(LATE), is_late=True))
_READS: Final = tuple(one for one in (*UNCLEAR, *REFUSALS) if not one.may_be_read)


def _no_outcomes() -> Counter[str]:
    return Counter()


@dataclass(frozen=True)
class Plan:
    """The faults of one sequence: one for each attempt to write, and one for every read afterwards."""

    writes: tuple[Trouble | None, ...]
    read: Trouble | None

    @classmethod
    def draw(cls, rng: random.Random) -> Plan:
        """A random plan; most let the provider be read."""
        writes = tuple(rng.choice((None, *_WRITES)) for _ in range(_ATTEMPTS))
        return cls(writes, rng.choice(_READS) if rng.random() < 0.3 else None)

    def __str__(self) -> str:
        return f"{' then '.join(map(str, self.writes))}; reads: {self.read}"


@dataclass
class Tally:
    """What came of some sequences."""

    sequences: int = 0
    duplicates: int = 0
    outcomes: Counter[str] = field(default_factory=_no_outcomes)
    wrong: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return f"sequences {self.sequences}, duplicates {self.duplicates}, wrong outcomes {len(self.wrong)}"


def play_sequences(scenes: Scenes[Any], operation_id: str, *, count: int, seed: int) -> Tally:
    """Plays so many calls of a Mutation that can be looked up, each as a Step makes it, each on a server of its own.

    At most three attempts, a new one only after a Retry, and one look afterwards when the outcome is uncertain. The
    truth is what the server holds at the end.
    """
    tally = Tally()
    for number in range(count):
        plan = Plan.draw(random.Random(f"{seed}/{operation_id}/{number}"))  # noqa: S311  (not for secrets)

        async def scene(stage: Stage[Any], plan: Plan = plan) -> None:
            await _sequence(scenes, stage, operation_id, plan, tally)

        scenes.play(scene, http_timeout=IMPATIENT)
    return tally


async def _sequence(scenes: Scenes[Any], stage: Stage[Any], operation_id: str, plan: Plan, tally: Tally) -> None:
    arguments = scenes.example(operation_id).arguments
    opened_at = datetime.now(UTC)
    attempt: Attempt | None = None
    requests = 0
    for trouble in plan.writes:
        if trouble is not None:
            stage.server.fail_next(ANY_REQUEST, trouble.with_status(200))
        attempt = await stage.dispatch(operation_id, arguments)
        requests += 1
        if not isinstance(attempt, Retry):
            break
    if len(stage.server.requests) != requests:
        tally.wrong.append(f"{plan}: {len(stage.server.requests)} requests for {requests} dispatches")
    found: Reconciliation | None = None
    if isinstance(attempt, Uncertain):
        early = await _look(stage, operation_id, arguments, opened_at, datetime.now(UTC) + timedelta(minutes=1))
        await stage.server.settle()
        if plan.read is not None:
            stage.server.fail_always(plan.read.with_status(200))
        found = await _look(stage, operation_id, arguments, opened_at, datetime.now(UTC))
        if isinstance(early, FoundNotSent):
            tally.wrong.append(f"{plan}: `not sent` was said too early")
    outcome = _told(scenes, operation_id, attempt, found)
    written = scenes.count_written(stage.server)
    truth = {"sent": {1}, "not sent": {0}, "failed": {0}}
    if plan.read is not None or not scenes.example(operation_id).proves_not_sent:
        truth["unknown"] = {0, 1}
    tally.sequences += 1
    tally.outcomes[outcome] += 1
    tally.duplicates += max(0, written - 1)
    if written not in truth.get(outcome, set()):
        tally.wrong.append(f"{plan}: told {outcome!r} after {requests} requests, written {written}")


async def _look(
    stage: Stage[Any], operation_id: str, arguments: Any, opened_at: datetime, ended_by: datetime
) -> Reconciliation:
    bound = stage.bound[operation_id]
    return await bound.reconcile(stage.call(operation_id), arguments, opened_at=opened_at, ended_by=ended_by)


def _told(scenes: Scenes[Any], operation_id: str, attempt: Attempt | None, found: Reconciliation | None) -> str:
    if isinstance(found, FoundSent):
        return "sent"
    if isinstance(found, CannotTell):
        return "not sent" if found.too_early else "unknown"
    if isinstance(found, FoundNotSent):
        return "not sent"
    succeeded = isinstance(attempt, BranchTaken) and (
        scenes.operation(operation_id).outcome_of(attempt.branch) is BranchOutcome.SUCCEEDED
    )
    return "sent" if succeeded else "failed"
