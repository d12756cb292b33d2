"""Runs Slack's postThreadReply against random sequences of faults and compares each outcome with the truth.

    python -m benchmarks.slack_faults [--sequences 400] [--seed 1]

Each sequence is one call, made as a Step makes it: at most three attempts, a new one only after a Retry, and when the
outcome is uncertain a look-up, made again as long as it asks for that. Around the call Slack rewrites the text, may
hide all metadata, may have lost the thread, holds what others wrote meanwhile, and has faults in the look-up, too. The
waits of a look-up are not kept: the local Slack counts faults, not seconds. The truth is what it holds at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    BranchTaken,
    Call,
    CannotTell,
    FoundNotSent,
    FoundSent,
    Reconciliation,
    Retry,
    Uncertain,
    slack,
)
from dexbridge.connectors.slack import PostedMessage
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import (
    Answer,
    AnswerLate,
    DropAfterPost,
    DropBeforeRead,
    DropWithoutPost,
    ErrorCode,
    Fault,
    OversizedAnswer,
    PostLate,
    TruncatedAnswer,
    WithoutTimestamp,
    html,
    rate_limited,
    redirect,
)
from dexbridge.connectors.testing.slack_workspace import CUSTOMER, Post

HTTP_TIMEOUT = timedelta(seconds=0.4)
LATE = 0.7
MAX_BYTES = 65_536
ATTEMPTS = 3
LOOKS = 3
LANES = 4

TEXTS = (
    "Order 1042 ships on Thursday.",
    "Done 🎉 see https://shop.example/orders/1042?x=1&y=2",
    "a < b && c > d, ask help@shop.example 👍",
    "**Shipped** *today* :tada: <!channel> & ❤️",
)
"""Slack keeps all but the first in another form than they are sent."""


@dataclass
class Tally:
    """What came of the sequences, and how many had which trouble around the call."""

    sequences: int = 0
    duplicate_posts: int = 0
    wrong_outcomes: int = 0
    outcomes: dict[str, int] = field(default_factory=dict[str, int])
    troubles: dict[str, int] = field(default_factory=dict[str, int])
    wrong: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return (
            f"sequences {self.sequences}, duplicate posts {self.duplicate_posts}, wrong outcomes {self.wrong_outcomes}"
        )


def _write_fault(rng: random.Random) -> Fault | None:
    posted = rng.random() < 0.5
    return rng.choice(
        [
            None,
            DropBeforeRead(),
            DropAfterPost(),
            DropWithoutPost(),
            AnswerLate(LATE),
            PostLate(LATE),
            rate_limited("1"),
            rate_limited("rubbish"),
            rate_limited("Wed, 01 Jan 2098 00:00:00 GMT"),
            ErrorCode("ratelimited"),
            ErrorCode("fatal_error", posted),
            ErrorCode("internal_error", posted),
            ErrorCode("not_in_channel"),
            ErrorCode("weather_bad"),
            Answer(500, "", posted=posted),
            Answer(503, '{"ok":false,"error":"service_unavailable"}', posted=posted),
            Answer(200, "", posted=posted),
            html(posted=posted),
            html(502, posted=posted),
            TruncatedAnswer(posted),
            OversizedAnswer(2 * MAX_BYTES, posted),
            WithoutTimestamp(posted),
            redirect("/api/elsewhere", posted=posted),
        ]
    )


def _passing_read_fault(rng: random.Random) -> Fault:
    """A fault after which the look-up asks to be made again."""
    return rng.choice(
        [
            DropBeforeRead(),
            DropAfterPost(),
            AnswerLate(LATE),
            rate_limited("1"),
            rate_limited("60"),
            rate_limited("1.5"),
            rate_limited(),
            ErrorCode("ratelimited"),
            ErrorCode("fatal_error"),
            Answer(503, '{"ok":false,"error":"service_unavailable"}'),
            html(),
            Answer(200, ""),
            Answer(200, '{"ok":true}'),
            Answer(200, '{"ok":false,"messages":[],"ok":true}'),
            TruncatedAnswer(),
            redirect("/api/elsewhere"),
        ]
    )


def _lasting_read_fault(rng: random.Random) -> Fault:
    """A fault another look would meet again."""
    return rng.choice([ErrorCode("missing_scope"), ErrorCode("not_allowed_token_type"), OversizedAnswer(2 * MAX_BYTES)])


@dataclass(frozen=True)
class _Plan:
    """What one sequence meets.

    Args:
        writes: the fault of each attempt.
        passing: faults of the first looks.
        lasting: the fault of the look after those; None when that one is answered.
        hides_metadata: no reader is shown any.
        loses_thread: the thread's first message is deleted before the call.
        bystander: what somebody else wrote meanwhile: nothing, a person's chat, one that cannot be read, or a bot's.
        text: what is posted.
    """

    writes: tuple[Fault | None, ...]
    passing: tuple[Fault, ...]
    lasting: Fault | None
    hides_metadata: bool
    loses_thread: bool
    bystander: str
    text: str

    def may_stay_unknown(self, *, posted: bool) -> bool:
        """Whether Slack keeps from the look-up what it would need, however often it looks."""
        if self.lasting is not None or len(self.passing) >= LOOKS:
            return True
        return self.hides_metadata if posted else self.bystander in {"bot", "unreadable"}

    @property
    def troubles(self) -> list[str]:
        """What the tally counts."""
        named = {
            "hidden metadata": self.hides_metadata,
            "rewritten text": self.text != TEXTS[0],
            "lost thread": self.loses_thread,
            "others' messages": self.bystander != "nobody",
        }
        return [name for name, is_there in named.items() if is_there]


def _plan(rng: random.Random) -> _Plan:
    return _Plan(
        writes=tuple(_write_fault(rng) for _ in range(ATTEMPTS)),
        passing=tuple(_passing_read_fault(rng) for _ in range(rng.choice([0, 0, 0, 1, 1, 2, LOOKS]))),
        lasting=_lasting_read_fault(rng) if rng.random() < 0.15 else None,
        hides_metadata=rng.random() < 0.3,
        loses_thread=rng.random() < 0.2,
        bystander=rng.choice(["nobody", "nobody", "nobody", "person", "unreadable", "bot"]),
        text=rng.choice(TEXTS),
    )


async def run(sequences: int, seed: int) -> Tally:
    """Runs so many sequences on a few local Slacks at once."""
    tally = Tally()
    numbers = iter(range(sequences))

    async def lane() -> None:
        async with LocalSlack() as server:
            project = MemoryProject(
                MemoryConnection(
                    "slack",
                    "bench",
                    configuration={"endpoint": server.endpoint, "maxResponseBytes": MAX_BYTES},
                    credentials={"bot_token": server.bot_token, "user_token": server.user_token},
                )
            )
            connection = slack.new_project_connection(
                project, "bench", http_timeout=HTTP_TIMEOUT, settling_time=timedelta(0)
            )
            for number in numbers:
                await _sequence(server, connection, random.Random(f"{seed}/{number}"), number, tally)
            await project.close()

    await asyncio.gather(*(lane() for _ in range(LANES)))
    return tally


async def _sequence(
    server: LocalSlack, connection: slack.Connection, rng: random.Random, number: int, tally: Tally
) -> None:
    operation = connection.post_thread_reply()
    plan = _plan(rng)
    channel = f"C{number:010d}"
    server.workspace.channels.add(channel)
    server.hides_metadata = plan.hides_metadata
    thread = server.workspace.post(channel, f"Question {number}")
    if plan.loses_thread:
        server.workspace.delete(channel, thread.ts)
    arguments = operation.validate({"channel_id": channel, "thread_timestamp": thread.ts, "text": plan.text})
    opened_at = datetime.now(UTC)
    call, attempt = await _make(server, operation, arguments, number, plan)
    outcome, told = "failed", None
    if isinstance(attempt, BranchTaken) and isinstance(attempt.output, PostedMessage):
        outcome, told = "sent", (attempt.branch, attempt.output)
    if isinstance(attempt, Uncertain):
        _write_meanwhile(server, channel, thread.ts, plan.bystander)
        look_up = partial(operation.reconcile, call, arguments, opened_at=opened_at)
        early = await look_up(ended_by=datetime.now(UTC) + timedelta(minutes=1))
        await server.settle()
        found = await _look(server, lambda: look_up(ended_by=datetime.now(UTC)), plan)
        outcome = {FoundSent: "sent", FoundNotSent: "not sent", CannotTell: "unknown"}[type(found)]
        if isinstance(found, FoundSent) and isinstance(found.output, PostedMessage):
            told = (found.branch, found.output)
        if isinstance(early, FoundNotSent):
            outcome = "not sent, said too early"
        _count(tally.troubles, f"look-up after {len(plan.passing)} faults")
        if plan.lasting is not None:
            _count(tally.troubles, "look-up that is refused")
    posts = [post for post in server.posts if _call_id(post.metadata) == call.call_id]
    truth = {"sent": {1}, "not sent": {0}, "failed": {0}}
    truth["unknown"] = {count for count in (0, 1) if plan.may_stay_unknown(posted=count == 1)}
    right = len(posts) in truth.get(outcome, set()) and (told is None or _is_at(told, posts))
    tally.sequences += 1
    tally.duplicate_posts += max(0, len(posts) - 1)
    _count(tally.outcomes, outcome)
    for trouble in plan.troubles:
        _count(tally.troubles, trouble)
    if not right:
        tally.wrong_outcomes += 1
        tally.wrong.append(f"{number}: {plan}: {outcome}, told {told}, posts {posts}")


async def _make(
    server: LocalSlack, operation: BoundOperation, arguments: Mapping[str, Any], number: int, plan: _Plan
) -> tuple[Call, Attempt]:
    """Makes the call as often as nothing was done, at most ATTEMPTS times; returns its last attempt."""
    for count, fault in enumerate(plan.writes, start=1):
        if fault is not None:
            server.fail_next("chat.postMessage", fault)
        call = Call(
            f"bench-{number}",
            "CallSingleAttemptTool-1",
            "slack",
            "postThreadReply",
            attempt=count,
            dispatch_before=datetime.now(UTC) + timedelta(seconds=5),
        )
        attempt = await operation.dispatch(call, arguments)
        if count == ATTEMPTS or not isinstance(attempt, Retry):
            return call, attempt
    raise AssertionError("a plan has a write")


def _write_meanwhile(server: LocalSlack, channel: str, thread: str, bystander: str) -> None:
    """Others write between the call and its look-up."""
    write = server.workspace.post
    match bystander:
        case "person":
            write(channel, "Any news?", thread_ts=thread, user=CUSTOMER)
        case "unreadable":
            write(channel, "", thread_ts=thread, user=CUSTOMER, more={"ts": None})
        case "bot":
            write(channel, "Deployed.", thread_ts=thread, user="U0OTHERBOT1", more={"bot_id": "B0OTHERBOT1"})
        case _:
            pass


async def _look(server: LocalSlack, look_up: Callable[[], Awaitable[Reconciliation]], plan: _Plan) -> Reconciliation:
    """Looks, and again while the look-up asks for it, at most LOOKS times."""
    method = "conversations.history" if plan.loses_thread else "conversations.replies"
    faults = [*plan.passing, *([] if plan.lasting is None else [plan.lasting])][:LOOKS]
    found: Reconciliation = CannotTell("not looked yet")
    for look in range(LOOKS):
        if look < len(faults):
            server.fail_next(method, faults[look])
        found = await look_up()
        if not isinstance(found, CannotTell) or found.retry_at is None:
            break
    return found


def _is_at(told: tuple[str, PostedMessage], posts: list[Post]) -> bool:
    """Whether the call says where its one post stands."""
    branch, posted = told
    expected = [("sent" if post.thread_ts else "sentOutsideThread", post.ts, post.thread_ts) for post in posts]
    return [(branch, posted.message.timestamp, posted.message.thread_timestamp)] == expected


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _call_id(metadata: object) -> object:
    return metadata["event_payload"]["call_id"] if isinstance(metadata, dict) else None  # pyright: ignore[reportUnknownVariableType]


def main() -> int:
    """Prints the tally; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(description="Slack against random faults.")
    parser.add_argument("--sequences", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tally = asyncio.run(run(options.sequences, options.seed))
    print(tally)
    for what, counts in (("outcomes", tally.outcomes), ("met", tally.troubles)):
        print(f"{what}: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    for line in tally.wrong:
        print(line)
    return 1 if tally.duplicate_posts or tally.wrong_outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
