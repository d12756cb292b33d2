"""One database under fire: real Workers and their real CLIs are killed while conversations go on."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psutil

from benchmarks.fault_points import Observed, Point, Victim, points
from benchmarks.fault_proxy import FaultProxy, fault_proxy
from benchmarks.fault_replies import SHAPES, message, play, posts_of
from benchmarks.fault_tally import Tally
from benchmarks.fault_worker import fault_flow
from dexbridge.claude.testing import ScriptedModel, snapshots_of
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import (
    AnswerLate,
    DropAfterPost,
    DropBeforeRead,
    DropWithoutPost,
    PostLate,
)
from dexbridge.sessions import AgentSessionClient, CallRecord, EventKind, open_engine
from dexbridge.toolsource import OutcomeKind

__all__ = ["run_lane"]

ROOT = Path(__file__).parents[1]
TURNS_PER_SESSION = 4
SECONDS_TO_END = 120
"""How long every turn may take to end once nothing is killed any more; while it goes on, kills can starve a turn."""
LOST_COMMITS = 0.05
SHOWN = 80
MOST_TOLD = 20
"""A fault of one request comes again in those after it."""
ENDS = (EventKind.TURN_ANSWERED, EventKind.TURN_FAILED, EventKind.TURN_CANCELLED)


@dataclass(frozen=True)
class Turn:
    """One message that was accepted, and the texts of its posts that were approved."""

    session_id: str
    text: str
    approved: frozenset[str]


class Lane:
    """The servers, the Workers and the conversations on one database."""

    def __init__(
        self,
        url: str,
        folder: Path,
        rng: random.Random,
        *,
        workers: int,
        talks: int,
        drops: bool,
        asks: bool,
        outages: Sequence[float],
    ) -> None:
        self.url = url
        self.outages = outages
        self.proxy: FaultProxy | None = None
        self.folder = folder
        self.rng = rng
        self.drops = drops
        self.asks = asks
        self.worker_count = workers
        self.talk_count = talks
        self.tally = Tally()
        self.turns: list[Turn] = []
        self.open: dict[int, str] = {}
        self.stopping = False
        self.model = ScriptedModel(play)
        self.slack = LocalSlack()
        self.workers: list[asyncio.subprocess.Process] = []

    async def run(self, kills: int) -> Tally:
        """Kills so often, lets every turn end, and compares."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.model)
            await stack.enter_async_context(self.slack)
            flow = fault_flow(self.model.url, self.slack.endpoint, asks=self.asks)
            engine = await stack.enter_async_context(open_engine(self.url, [flow], run_steps=False))
            self.client = AgentSessionClient(engine)
            self.observed = Observed(self.url, self.model, self.slack)
            stack.callback(self.observed.close)
            stack.push_async_callback(self._end_workers)
            if self.outages:
                # Between the Workers and their database; the client reaches it, so that what it asks is counted.
                self.proxy = await stack.enter_async_context(fault_proxy(self.url))
                self.proxy.cuts = lambda _sql: self.rng.random() < LOST_COMMITS
            for _ in range(self.worker_count):
                self.workers.append(await self._start())
            talks = [asyncio.create_task(self._talk(number)) for number in range(self.talk_count)]
            faults = asyncio.create_task(self._drop_answers())
            killing = asyncio.ensure_future(asyncio.gather(self._kill(kills), self._lose_database()))
            stack.callback(killing.cancel)
            # A talk ends before only when it fails; then there is nothing left to kill at.
            await asyncio.wait([killing, *talks], return_when=asyncio.FIRST_COMPLETED)
            for early in (task for task in (killing, *talks) if task.done()):
                early.result()
            self.stopping = True
            faults.cancel()
            if self.proxy is not None:
                self.proxy.cuts = lambda _sql: False
                self.tally.lost_commits = self.proxy.lost
            done, left = await asyncio.wait(talks, timeout=SECONDS_TO_END)
            for talk in done:
                talk.result()
            for talk in left:
                talk.cancel()
            for text in self.open.values():
                await self._note_stuck(text)
            # A message Slack was slow with is there by now.
            await self.slack.settle()
            for turn in self.turns:
                await self._compare(turn)
            for session_id in sorted({turn.session_id for turn in self.turns}):
                await self._check_transcript(session_id)
            self.tally.posts = len(self.slack.posts)
            if self.outages and not self.drops and self.tally.unresolved_unknowns:
                self.tally.faults.append("an outage cost an outcome, though Slack answered every question")
            self._count_results()
            # What the model was told, in every request, against the records as they are now.
            told = self.model.told_faults(await snapshots_of(self.client))
            self.tally.wrongly_told = len(told)
            self.tally.faults += told[:MOST_TOLD]
        return self.tally

    async def _lose_database(self) -> None:
        for seconds in self.outages:
            await asyncio.sleep(self.rng.uniform(1, 5))
            assert self.proxy is not None
            await self.proxy.go_away(seconds)
            self.tally.outages += 1

    async def _kill(self, kills: int) -> None:
        moments = itertools.cycle(points(asks=self.asks))
        while self.tally.kills < kills:
            await asyncio.sleep(self.rng.uniform(0, 1.5))
            point = next(moments)
            if await self.observed.reached(point.moment, self.rng) and await self._kill_at(point):
                self.tally.kills += 1
                self.tally.points[point.name] = self.tally.points.get(point.name, 0) + 1

    async def _kill_at(self, point: Point) -> bool:
        """Whether there was something to kill."""
        number = self.rng.randrange(len(self.workers))
        if point.victim is not Victim.WORKER:
            waiting = await self.observed.waiting_cli(point.moment, [worker.pid for worker in self.workers])
            if waiting is None:
                return False
            if point.victim is Victim.WAITING_CLI:
                with contextlib.suppress(psutil.NoSuchProcess):
                    waiting.process.kill()
                    return True
                return False
            number = waiting.worker
        self.workers[number].kill()
        await self.workers[number].wait()
        self.workers[number] = await self._start()
        return True

    async def _start(self) -> asyncio.subprocess.Process:
        """A Worker that serves; one that could not reach its database is started again, as a supervisor does."""
        async with asyncio.timeout(SECONDS_TO_END):
            while True:
                began_away = self.proxy is not None and self.proxy.away
                process, serves = await self._start_once()
                if serves:
                    return process
                if not (began_away or (self.proxy is not None and self.proxy.lost)):
                    said = (self.folder / "workers.log").read_text(errors="replace")
                    raise RuntimeError(f"A Worker did not start: {said[-2000:]}")
                await process.wait()

    async def _start_once(self) -> tuple[asyncio.subprocess.Process, bool]:
        with (self.folder / "workers.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-m",
                    "benchmarks.fault_worker",
                    self.url if self.proxy is None else self.proxy.url,
                    self.model.url,
                    self.slack.endpoint,
                    "asks" if self.asks else "free",
                ),
                cwd=ROOT,
                env={**os.environ, "TMPDIR": str(self.folder)},
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert process.stdout is not None
        return process, await process.stdout.readline() == b"serving\n"

    async def _end_workers(self) -> None:
        for process in self.workers:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _drop_answers(self) -> None:
        """Now and then a request or an answer is lost, or late."""
        queued = 0
        while self.drops:
            await asyncio.sleep(self.rng.uniform(0.2, 1.5))
            fault = self.rng.choice(
                [DropAfterPost(), DropBeforeRead(), DropWithoutPost(), AnswerLate(0.8), PostLate(0.3), None]
            )
            asked = sum(request.method == "chat.postMessage" for request in self.slack.requests)
            if fault is not None and asked >= queued:
                self.slack.fail_next("chat.postMessage", fault)
                queued = asked + 1

    async def _talk(self, number: int) -> None:
        conversation = 0
        # A session whose replies have other shapes than the one before, in each talk.
        shapes = itertools.islice(itertools.cycle(SHAPES), 2 * number, None)
        while not self.stopping:
            conversation += 1
            session_id = f"talk-{number}-{conversation}"
            await self.client.start_session(session_id)
            for turn in range(TURNS_PER_SESSION):
                if self.stopping and turn >= 2:
                    return
                text = message(session_id, turn + 1, next(shapes))
                self.open[number] = text
                await self._turn(session_id, text)
                del self.open[number]

    def _count_results(self) -> None:
        for request in self.model.requests:
            if request.tool_results and request.resumed:
                self.tally.results_to_new_clis += 1
            elif request.tool_results:
                self.tally.results_to_waiting_clis += 1

    async def _note_stuck(self, text: str) -> None:
        state = (await self.client.get_snapshot(text.partition(":")[0])).state
        self.tally.lost_approved_calls += 1
        self.tally.faults.append(f"{text[:SHOWN]!r} did not end: {state.status} {state.due} {state.leg}")

    async def _turn(self, session_id: str, text: str) -> None:
        after = (await self.client.get_snapshot(session_id)).last_event
        # A client that got no answer sends again; the ID makes it one message.
        for _ in range(2):
            assert await self.client.send_user_message(session_id, text, message_id=text[:SHOWN])
        approved = set[str]() if self.asks else set(posts_of(text))
        async for event in self.client.read_events(session_id, after=after, follow=True):
            if event.kind is EventKind.INTERRUPT_OPENED:
                await asyncio.sleep(self.rng.choice([0, 0, 0.3]))
                wants = self.rng.random() < 0.9
                decided = await self.client.resolve_interrupt(session_id, event.data["interrupt_id"], approved=wants)
                if wants and decided:
                    approved.add(event.data["arguments"]["text"])
            if event.kind in ENDS:
                self.turns.append(Turn(session_id, text, frozenset(approved)))
                return

    async def _compare(self, turn: Turn) -> None:
        """The records against what Slack has."""
        self.tally.turns += 1
        self.tally.approved += len(turn.approved)
        snapshot = await self.client.get_snapshot(turn.session_id)
        for text in posts_of(turn.text):
            records = [call for call in snapshot.calls if call.arguments.get("text") == text]
            self._compare_post(text, records, approved=text in turn.approved, error=snapshot.state.last_error)

    def _compare_post(self, text: str, records: list[CallRecord], *, approved: bool, error: str | None) -> None:
        tally, name = self.tally, repr(text[:SHOWN])
        posted = [post for post in self.slack.posts if post.text == text]
        if len(posted) > 1:
            tally.duplicates += 1
            tally.faults.append(f"{name} was posted {len(posted)} times")
        if len(records) != 1:
            tally.lost_approved_calls += 1
            tally.faults.append(f"{name} has {len(records)} records, last error {error!r}")
            return
        (record,) = records
        tally.outcomes[record.outcome.value] = tally.outcomes.get(record.outcome.value, 0) + 1
        if record.outcome is OutcomeKind.OUTCOME_UNKNOWN:
            tally.unresolved_unknowns += 1
            tally.reasons[record.text] = tally.reasons.get(record.text, 0) + 1
        elif not _is_true(record, [post.ts for post in posted], approved=approved):
            tally.wrong_outcomes += 1
            tally.faults.append(f"{name}: {record.outcome} with {len(posted)} posts, approved {approved}")

    async def _check_transcript(self, session_id: str) -> None:
        """Every call of the conversation has exactly one result, and the records are whole."""
        rows = await asyncio.to_thread(
            self.observed.rows,
            f"select sequence, entry from dexbridge_transcript where session_id = '{session_id}' order by 1",
        )
        uses: Counter[str] = Counter()
        results: Counter[str] = Counter()
        for _, entry in rows:
            for block in _blocks(json.loads(entry)):
                if block.get("type") == "tool_use":
                    uses[block["id"]] += 1
                elif block.get("type") == "tool_result":
                    results[block["tool_use_id"]] += 1
        events = [event.sequence async for event in self.client.read_events(session_id)]
        whole = (
            uses == results
            and set(uses.values()) <= {1}
            and [row[0] for row in rows] == list(range(1, len(rows) + 1))
            and events == list(range(1, len(events) + 1))
        )
        if not whole:
            self.tally.broken_transcripts += 1
            self.tally.faults.append(f"the transcript of {session_id}: calls {dict(uses)}, results {dict(results)}")


def _is_true(record: CallRecord, posted: list[str], *, approved: bool) -> bool:
    match record.outcome:
        case OutcomeKind.SUCCEEDED:
            return approved and len(posted) == 1 and (record.receipt or {}).get("provider_object_id") == posted[0]
        case OutcomeKind.REJECTED:
            return not approved and not posted
        case _:
            return not posted


def _blocks(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    message: Mapping[str, Any] = entry.get("message") or {}
    content: object = message.get("content")
    return cast("list[dict[str, Any]]", content) if isinstance(content, list) else []


async def run_lane(
    url: str,
    kills: int,
    seed: int,
    *,
    workers: int = 1,
    talks: int = 4,
    drops: bool = True,
    asks: bool = True,
    outages: Sequence[float] = (),
) -> Tally:
    """Runs one lane on a database.

    Args:
        url: An engine's URL.
        kills: How many.
        seed: Of everything that is chosen at random.
        workers: How many run at once.
        talks: How many sessions are talked to at once.
        drops: Whether Slack's answers are lost now and then.
        asks: Whether a person approves or rejects each post.
        outages: How long the Workers' PostgreSQL is away, one time after another, in seconds. With any, answers to
            their COMMITs are lost too.
    """
    with tempfile.TemporaryDirectory(prefix="dexbridge-faults-") as folder:
        rng = random.Random(seed)
        lane = Lane(url, Path(folder), rng, workers=workers, talks=talks, drops=drops, asks=asks, outages=outages)
        return await lane.run(kills)
