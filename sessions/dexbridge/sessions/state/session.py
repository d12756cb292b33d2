"""The state of one session: small, whole, replaced and never edited."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from dexbridge.sessions.state.call import CallResult, PendingCall
from dexbridge.sessions.state.exchange import Exchange, Note, Rows
from dexbridge.sessions.state.interrupt import Decision, Interrupt
from dexbridge.sessions.state.message import UserMessage
from dexbridge.sessions.state.persisted import Instant, Persisted
from dexbridge.sessions.state.step import StepExecution, StepType

__all__ = ["Leg", "SessionState", "SessionStatus"]


class SessionStatus(StrEnum):
    """What a session is doing."""

    IDLE = "idle"
    RUNNING = "running"
    WAITING = "waiting"
    ENDED = "ended"


class Leg(Persisted):
    """One stretch of Steps between two waits; at most one is open per session.

    Attributes:
        number: From 1.
        claimed_by: The run that executes it; a second run of the same leg stops at once.
        epoch: Grows with each claim; a commit under an older epoch is refused, so a Worker that was frozen while
            another took over cannot commit.
    """

    number: int
    claimed_by: str | None = None
    epoch: int = 0


class SessionState(Persisted):
    """Everything the Steps decide by. What only grows (messages, calls, events, transcript) is stored beside it.

    Attributes:
        conversation_id: The agent framework's own ID of the conversation, a UUID made by us.
        turn: Number of the current or last turn.
        step_counts: Executions so far by type.
        due: The Step that runs next, or that waits for a decision.
        runs: How many runs have had that Step: more than one when Workers have ended in it.
        prompt: Messages of this turn the model has not yet seen in a committed segment.
        queued: Accepted messages that wait for a later turn.
        steering: Messages for the running turn; the model gets them at the next safe boundary.
        call: The call that is between its segment and its result.
        result: A recorded result the model has not yet got in a committed segment.
        exchange: What the model was given and has not finished; `None` in a turn an earlier version began.
        notes: What it must hear of exchanges that were left out.
        left_out: Rows of the transcript it is not given any more.
        cancelling: The turn ends at the next safe boundary.
        ending: Why the session ends with the turn; `None` when it does not.
        warned: Whether it was said that the state nears its limit.
        leg: The open leg; `None` while nothing runs.
        transcript_rows, transcript_bytes: What the conversation's transcript takes.
        message_count, event_count: Next numbers of what is stored beside the state.
    """

    session_id: str
    flow_type: str
    conversation_id: str
    created_at: Instant
    status: SessionStatus = SessionStatus.IDLE
    turn: int = 0
    step_counts: dict[StepType, int] = Field(default_factory=dict[StepType, int])
    due: StepExecution | None = None
    runs: int = 0
    prompt: tuple[UserMessage, ...] = ()
    queued: tuple[UserMessage, ...] = ()
    steering: tuple[UserMessage, ...] = ()
    call: PendingCall | None = None
    interrupt: Interrupt | None = None
    decision: Decision | None = None
    result: CallResult | None = None
    exchange: Exchange | None = None
    notes: tuple[Note, ...] = ()
    left_out: tuple[Rows, ...] = ()
    cancelling: bool = False
    ending: str | None = None
    warned: bool = False
    last_error: str | None = None
    legs: int = 0
    leg: Leg | None = None
    transcript_rows: int = 0
    transcript_bytes: int = 0
    message_count: int = 0
    event_count: int = 0

    @property
    def pending_interrupt(self) -> Interrupt | None:
        """The call that waits for a decision, if none was made."""
        return self.interrupt if self.decision is None else None

    def with_due(self, step: StepType) -> SessionState:
        """Returns the state with the next execution of that Step due."""
        number = self.step_counts.get(step, 0) + 1
        return self.model_copy(
            update={
                "due": StepExecution(type=step, number=number),
                "step_counts": {**self.step_counts, step: number},
                "runs": 0 if self.leg is None else 1,
                "status": SessionStatus.RUNNING,
            }
        )

    def with_claim(self, leg: Leg, run: str) -> SessionState:
        """Returns the state with its open leg taken by a run; under what an earlier run knows, nothing is committed."""
        claimed = leg.model_copy(update={"claimed_by": run, "epoch": leg.epoch + 1})
        return self.model_copy(update={"leg": claimed, "runs": self.runs + 1})
