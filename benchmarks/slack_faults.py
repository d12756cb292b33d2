"""Runs Slack's postThreadReply against random sequences of faults and compares each outcome with the truth.

    python -m benchmarks.slack_faults [--sequences 200] [--seed 1]

Each sequence is one call, made as a Step makes it: at most three attempts, a new one only after a Retry, and up to
three looks afterwards when the outcome is uncertain, as long as a look says when to look again. Looks have faults, too;
Slack rewrites texts, in a fourth of the sequences hides metadata, and in a tenth the thread is gone when the reply
comes. The truth is what the local Slack holds at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from dexbridge.connectors import (
    Attempt,
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
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, Workspace

HTTP_TIMEOUT = timedelta(seconds=0.4)
LATE = 0.7
MAX_BYTES = 65_536
ATTEMPTS = 3
LOOKS = 3
LANES = 4


@dataclass
class Tally:
    """What came of the sequences."""

    sequences: int = 0
    duplicate_posts: int = 0
    wrong_outcomes: int = 0
    outcomes: dict[str, int] = field(default_factory=dict[str, int])
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


LASTING: tuple[Fault, ...] = (ErrorCode("missing_scope"), OversizedAnswer(2 * MAX_BYTES))
PASSING: tuple[Fault, ...] = (
    DropBeforeRead(),
    DropAfterPost(),
    rate_limited("60"),
    rate_limited("1.5"),
    ErrorCode("fatal_error"),
    Answer(503, '{"ok":false,"error":"service_unavailable"}'),
    html(),
    Answer(200, ""),
    Answer(200, '{"ok":true}'),
    Answer(200, '{"ok":false,"messages":[],"ok":true}'),
    TruncatedAnswer(),
    redirect("/api/elsewhere"),
)


def _read_faults(rng: random.Random) -> list[Fault]:
    if rng.random() < 0.5:
        return []
    if rng.random() < 0.2:
        return [rng.choice(LASTING)]
    return rng.choices(PASSING, k=rng.randint(1, LOOKS))


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
    plan = [_write_fault(rng) for _ in range(ATTEMPTS)]
    read_faults = _read_faults(rng)
    server.workspace = Workspace()  # so that a look in the channel does not meet the other sequences' messages
    server.hides_metadata = rng.random() < 0.25
    thread = server.workspace.post(SEEDED_CHANNEL, f"Question {number}", user="U0CUSTOMER1")
    arguments = operation.validate(
        {
            "channel_id": SEEDED_CHANNEL,
            "thread_timestamp": thread.ts,
            "text": f"🎉 {number} see https://x.example/{number}",
        }
    )
    if rng.random() < 0.1:
        server.workspace.delete(SEEDED_CHANNEL, thread.ts)
    opened_at = datetime.now(UTC)
    attempt: Attempt | None = None
    call = Call(f"bench-{number}", "CallSingleAttemptTool-1", "slack", "postThreadReply")
    for count, fault in enumerate(plan, start=1):
        if fault is not None:
            server.fail_next("chat.postMessage", fault)
        call = Call(
            call.flow_id,
            call.step_execution_id,
            "slack",
            "postThreadReply",
            attempt=count,
            dispatch_before=datetime.now(UTC) + timedelta(seconds=5),
        )
        attempt = await operation.dispatch(call, arguments)
        if not isinstance(attempt, Retry):
            break
    outcome, told = _name(attempt), _timestamp(attempt)
    if isinstance(attempt, Uncertain):
        early = await operation.reconcile(
            call, arguments, opened_at=opened_at, ended_by=datetime.now(UTC) + timedelta(minutes=1)
        )
        await server.settle()
        server.fail_next("conversations.replies", *read_faults)
        found: Reconciliation = early
        for _ in range(LOOKS):
            found = await operation.reconcile(call, arguments, opened_at=opened_at, ended_by=datetime.now(UTC))
            if not isinstance(found, CannotTell) or found.retry_at is None:
                break
        server.clear_faults()
        outcome = {FoundSent: "sent", FoundNotSent: "not sent", CannotTell: "unknown"}[type(found)]
        told = _told(found)
        if isinstance(early, FoundNotSent):
            outcome = "not sent, said too early"
    posts = [post.ts for post in server.posts if _call_id(post.metadata) == call.call_id]
    truth = {"sent": {1}, "not sent": {0}, "failed": {0}}
    if server.hides_metadata or len(read_faults) == LOOKS or (read_faults and read_faults[0] in LASTING):
        truth["unknown"] = {0, 1}
    right = len(posts) in truth.get(outcome, set()) and (told is None or [told] == posts)
    tally.sequences += 1
    tally.duplicate_posts += max(0, len(posts) - 1)
    tally.outcomes[outcome] = tally.outcomes.get(outcome, 0) + 1
    if not right:
        tally.wrong_outcomes += 1
        tally.wrong.append(
            f"{number}: {plan} then {read_faults}, hidden {server.hides_metadata}: {outcome}, posts {posts}"
        )


def _name(attempt: Attempt | None) -> str:
    is_sent = isinstance(attempt, BranchTaken) and attempt.branch in {"sent", "sentOutsideThread"}
    return "sent" if is_sent else "failed"


def _timestamp(attempt: Attempt | None) -> str | None:
    if isinstance(attempt, BranchTaken) and isinstance(attempt.output, PostedMessage):
        return attempt.output.message.timestamp
    return None


def _told(found: FoundSent | FoundNotSent | CannotTell) -> str | None:
    return found.receipt.provider_object_id if isinstance(found, FoundSent) else None


def _call_id(metadata: object) -> object:
    return metadata["event_payload"]["call_id"] if isinstance(metadata, dict) else None  # pyright: ignore[reportUnknownVariableType]


def main() -> int:
    """Prints the tally; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(description="Slack against random faults.")
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tally = asyncio.run(run(options.sequences, options.seed))
    print(tally)
    print(", ".join(f"{name} {count}" for name, count in sorted(tally.outcomes.items())))
    for line in tally.wrong:
        print(line)
    return 1 if tally.duplicate_posts or tally.wrong_outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
