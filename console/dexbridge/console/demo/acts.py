"""The two acts of the local demo, and the checks each must pass before it claims anything."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import AnswerLate
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, Post
from dexbridge.console.demo.errors import NotTrue
from dexbridge.console.demo.screen import Screen
from dexbridge.console.demo.turn import Turn, TurnOnScreen
from dexbridge.console.demo.worker_process import WorkerProcess
from dexbridge.sessions import AgentSessionClient
from dexbridge.toolsource import OutcomeKind

_CUSTOMER: Final = "U0CUSTOMER2"
_QUESTION: Final = "Where is order 1002?"
_REPLY: Final = "Order 1002 ships on Thursday."
_POST: Final = "chat.postMessage"
_READ: Final = "conversations.replies"
_HELD_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.005
_TURN_SECONDS: Final = 120

_APPROVED_STEPS: Final = ("RunModel-1", "AwaitToolApproval-1", "CallSingleAttemptTool-1", "ResumeTurn-1", "RunModel-2")
_BEFORE_THE_CALL: Final = _APPROVED_STEPS[1]
_REJECTED_STEPS: Final = ("RunModel-1", "AwaitToolApproval-1", "ResumeTurn-1", "RunModel-2")


@dataclass(frozen=True, slots=True)
class Stage:
    """What an act plays with."""

    slack: LocalSlack
    worker: WorkerProcess
    sessions: AgentSessionClient
    screen: Screen
    approve: bool | None

    def open_thread(self) -> Post:
        """A customer asks in Slack."""
        return self.slack.workspace.post(SEEDED_CHANNEL, _QUESTION, user=_CUSTOMER)

    def turn(self) -> TurnOnScreen:
        """A turn of a new session."""
        return TurnOnScreen(self.sessions, self.screen, self.approve)

    def replies(self, thread: Post) -> tuple[Post, ...]:
        """What the thread holds beside its first message."""
        return tuple(post for post in self.slack.posts if post.thread_ts == thread.ts)

    def requests(self, method: str, thread: Post) -> int:
        """How many requests of a method reached Slack for the thread."""
        field = "thread_ts" if method == _POST else "ts"
        return sum(one.method == method and one.body.get(field) == thread.ts for one in self.slack.requests)


async def reply_after_approval(stage: Stage) -> bool:
    """Act 1: a reply leaves the agent's process, waits for a person, and runs once. Returns the decision.

    Raises:
        NotTrue: something else happened.
    """
    stage.screen.title("Act 1. The agent replies in Slack, after a person has approved")
    thread = stage.open_thread()
    turn = await stage.worker.while_it_runs(_run(stage.turn(), stage, thread))
    _show_thread(stage, thread)
    if turn.approved:
        _check_posted(stage, thread, turn)
        stage.screen.say("Checked: one request, one message, outcome succeeded.")
        return True
    _check(turn.steps == _REJECTED_STEPS, f"the Steps were {', '.join(turn.steps)}")
    _check_outcome(turn, OutcomeKind.REJECTED)
    _check(stage.requests(_POST, thread) == 0, "a request to post reached Slack")
    _check(not stage.replies(thread), "the thread has a reply")
    stage.screen.say("Checked: rejected, no request to post reached Slack, the thread has no reply.")
    return False


async def reply_through_a_kill(stage: Stage) -> None:
    """Act 2: as act 1, and the Worker dies between Slack's message and the record of it.

    Raises:
        NotTrue: something else happened, among it a second message.
    """
    stage.screen.title("Act 2. The same, and the Worker is killed right after Slack has the message")
    thread = stage.open_thread()
    # Slack keeps the message and holds its answer back, so the Worker cannot have recorded it.
    stage.slack.fail_next(_POST, AnswerLate(_HELD_SECONDS))
    on_screen = stage.turn()
    turn_task = asyncio.create_task(stage.worker.while_it_runs(_run(on_screen, stage, thread)))
    killing = asyncio.create_task(_kill_when_posted(stage, thread, turn_task, on_screen))
    turn = await _both(turn_task, killing)
    _show_thread(stage, thread)
    if not turn.approved:
        _check(not stage.replies(thread), "the thread has a reply")
        stage.screen.say("Checked: rejected, nothing was posted; so there was no moment to kill the Worker at.")
        return
    call = _check_posted(stage, thread, turn)
    reads = stage.requests(_READ, thread)
    _check(reads > 0, "the new Worker did not look into the thread")
    stage.screen.say(
        f"How the outcome was found: the first Worker's attempt had a row without an end in the database, so the new "
        f"Worker did not send. It read the thread ({reads} request{'s' if reads > 1 else ''} of {_READ}), found the "
        f"message whose metadata holds Call ID {call}, and recorded it as sent."
    )
    stage.screen.say("Checked: one request to post in all, one message, outcome succeeded.")


async def _run(turn: TurnOnScreen, stage: Stage, thread: Post) -> Turn:
    message = f"Reply in Slack thread {thread.channel} {thread.ts}: {_REPLY}"
    # A person may take any time to decide.
    limit = None if stage.approve is None else _TURN_SECONDS
    try:
        async with asyncio.timeout(limit):
            return await turn.run(message)
    except TimeoutError:
        raise NotTrue(f"The turn did not end within {_TURN_SECONDS} s.") from None


async def _kill_when_posted(stage: Stage, thread: Post, turn: asyncio.Task[Turn], on_screen: TurnOnScreen) -> None:
    while not stage.replies(thread):
        if turn.done():
            return
        await asyncio.sleep(_LOOK_SECONDS)
    killed = await stage.worker.kill()
    _check(stage.requests(_READ, thread) == 0, "the Worker had looked into the thread before it was killed")
    # The events of another process are seen a moment later; the story is told in their order.
    await on_screen.wait_until_shown(_BEFORE_THE_CALL)
    stage.screen.say(f"  SIGKILL to the Worker, process {killed}: Slack has the message, and nobody")
    stage.screen.say("  has recorded it.")
    await stage.worker.start()
    stage.screen.say(f"  A new Worker runs, process {stage.worker.process_id}.")


async def _both(turn: asyncio.Task[Turn], killing: asyncio.Task[None]) -> Turn:
    """The turn, once both have ended; when one fails the other is ended too."""
    tasks: tuple[asyncio.Task[Any], ...] = (turn, killing)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if killing.done():
            killing.result()
        return await turn
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _show_thread(stage: Stage, thread: Post) -> None:
    screen = stage.screen
    screen.gap()
    screen.say(f"The thread as the Slack server has it ({thread.channel} {thread.ts}):")
    for post in stage.slack.workspace.thread(thread.channel, thread.ts) or []:
        screen.fact(post.user, post.text)
        if (call_id := _call_id_of(post)) is not None:
            screen.fact("", f"metadata: Call ID {call_id}")
    screen.gap()


def _call_id_of(post: Post) -> str | None:
    found = cast(Mapping[str, Mapping[str, object]], post.metadata or {}).get("event_payload", {}).get("call_id")
    return found if isinstance(found, str) else None


def _check_posted(stage: Stage, thread: Post, turn: Turn) -> str:
    """Checks that the one call was made once and is recorded as what it was; returns its Call ID."""
    posts = stage.replies(thread)
    _check(len(posts) == 1, f"the thread has {len(posts)} replies")
    _check(stage.requests(_POST, thread) == 1, f"{stage.requests(_POST, thread)} requests to post reached Slack")
    _check(posts[0].text == _REPLY, "the message has another text than was approved")
    _check(turn.steps == _APPROVED_STEPS, f"the Steps were {', '.join(turn.steps)}")
    _check_outcome(turn, OutcomeKind.SUCCEEDED)
    call = turn.calls[0]
    _check(call.attempts == 1, f"the call has {call.attempts} attempts")
    _check(call.call_id is not None and call.call_id == _call_id_of(posts[0]), "the message has another Call ID")
    receipt = call.receipt or {}
    _check(receipt.get("provider_object_id") == posts[0].ts, "the receipt names another message")
    assert call.call_id is not None
    return call.call_id


def _check_outcome(turn: Turn, outcome: OutcomeKind) -> None:
    seen = [call.outcome for call in turn.calls]
    _check(seen == [outcome], f"instead of one call that {outcome} there was: {', '.join(seen) or 'none'}")


def _check(true: bool, otherwise: str) -> None:
    if not true:
        raise NotTrue(f"This was not to happen: {otherwise}.")
