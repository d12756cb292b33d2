"""What people ask of a session, as pure changes of its state."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import replace

from dexbridge.connectors import is_blank
from dexbridge.sessions.changes import turns
from dexbridge.sessions.changes.turns import begin_turn, open_leg
from dexbridge.sessions.changes.withdrawal import settled_event, stop_turn, superseded, withdraw
from dexbridge.sessions.errors import InvalidRequest
from dexbridge.sessions.flow import SessionLimits
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.interrupt import Decision
from dexbridge.sessions.state.message import UserMessage
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState, SessionStatus
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Change, MessageKey, Refusal, Settle, Transition
from dexbridge.toolsource import OutcomeKind

__all__ = [
    "accept_message",
    "cancel_turn",
    "check_text",
    "end_session",
    "new_session",
    "resolve_interrupt",
    "settle_call",
    "steer",
    "user_message",
]

_LONGEST_REJECTION = 4_000
_LONGEST_ID = 200
_ENDED = "it was ended"


def new_session(session_id: str, flow_type: str) -> Transition:
    """A session that has heard nothing yet."""
    state = SessionState(
        session_id=session_id,
        flow_type=flow_type,
        conversation_id=str(uuid.uuid4()),
        created_at=now(),
    )
    return Transition(state, events=(NewEvent(kind=EventKind.SESSION_STARTED, data={"flow_type": flow_type}),))


def check_text(what: str, text: object, longest: int) -> str:
    """Returns the text of a request when it can be stored and shown.

    Raises:
        InvalidRequest: Not a string, blank (see `is_blank`), too long, or with a NUL or half a surrogate pair.
    """
    if not isinstance(text, str):
        raise InvalidRequest(f"{what} must be a string, not {type(text).__name__}.")
    if len(text) > longest:
        raise InvalidRequest(f"{what} has {len(text)} characters, the limit is {longest}: shorten it.")
    if is_blank(text):
        raise InvalidRequest(f"{what} is blank: give it some text.")
    if "\x00" in text:
        raise InvalidRequest(f"{what} holds a NUL character, which cannot be stored: remove it.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequest(f"{what} holds half of a surrogate pair, which is no text: remove it.") from None
    return text


def user_message(limits: SessionLimits, text: str, message_id: str | None) -> tuple[UserMessage, MessageKey]:
    """A message from outside, checked, and its key; an ID is made up when the caller gave none.

    Raises:
        InvalidRequest: The text or the ID cannot be accepted.
    """
    check_text("The message", text, limits.message_characters)
    if message_id is None:
        # Of our own: a message whose commit was not answered can be given again, and is taken once.
        message_id = str(uuid.uuid4())
    check_text("message_id", message_id, _LONGEST_ID)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return UserMessage(message_id=message_id, text=text, accepted_at=now()), MessageKey(message_id, digest)


def accept_message(limits: SessionLimits, message: UserMessage) -> Change:
    """A user message begins a turn, or waits in the queue while another runs."""

    def change(state: SessionState) -> Transition | Refusal:
        if state.status is SessionStatus.ENDED or state.ending is not None:
            return Refusal("the session has ended")
        accepted = _accepted(message)
        if state.status is SessionStatus.IDLE:
            begun = begin_turn(state, message)
            return Transition(open_leg(begun.state), begun.messages, events=(accepted, *begun.events))
        if len(state.queued) >= limits.queued_messages:
            return Refusal(f"{limits.queued_messages} messages are waiting already")
        return Transition(state.model_copy(update={"queued": (*state.queued, message)}), events=(accepted,))

    return change


def steer(limits: SessionLimits, message: UserMessage) -> Change:
    """A message for the turn that runs: the model gets it at the next safe boundary.

    A Step that runs is not interrupted. A call that waits for approval is taken back, since it was asked for before the
    user said this. Without a running turn it begins one.
    """
    otherwise = accept_message(limits, message)

    def change(state: SessionState) -> Transition | Refusal:
        if state.status in (SessionStatus.IDLE, SessionStatus.ENDED) or state.ending is not None:
            return otherwise(state)
        if len(state.steering) >= limits.queued_messages:
            return Refusal(f"{limits.queued_messages} messages are waiting already")
        steered = state.model_copy(update={"steering": (*state.steering, message)})
        events = (
            _accepted(message),
            NewEvent(kind=EventKind.TURN_STEERED, data={"turn": state.turn, "message_id": message.message_id}),
        )
        if state.status is not SessionStatus.WAITING or state.call is None:
            return Transition(steered, events=events)
        taken, calls = withdraw(steered, superseded(state.call))
        return Transition(open_leg(taken.with_due(StepType.RESUME_TURN)), calls=calls, events=events)

    return change


def cancel_turn() -> Change:
    """Stops the running turn: its model, or the call that waits. A call already dispatched ends and is recorded.

    An idle session drops the messages of a failed turn that it keeps for the next; a result it keeps stays.
    """

    def change(state: SessionState) -> Transition | Refusal:
        if state.status is SessionStatus.IDLE and state.prompt:
            return stop_turn(state)
        if state.status in (SessionStatus.IDLE, SessionStatus.ENDED):
            return Refusal("no turn is running")
        if state.status is SessionStatus.WAITING:
            stopped = stop_turn(state)
            return replace(stopped, state=_open_if_due(stopped.state))
        if state.cancelling:
            return Refusal("the turn is being cancelled already")
        # What was said to this turn goes with it; what is said from now on begins the next one.
        unread = turns.unread_messages(state.steering, state.turn)
        return Transition(state.model_copy(update={"cancelling": True, "steering": ()}), unread)

    return change


def end_session() -> Change:
    """Ends the session for good, with the turn that runs cancelled first."""
    cancel = cancel_turn()

    def change(state: SessionState) -> Transition | Refusal:
        if state.status is SessionStatus.ENDED or state.ending is not None:
            return Refusal("the session has ended")
        if state.status is SessionStatus.IDLE:
            return turns.end_session(state, _ENDED)
        unread = turns.unread_messages((*state.steering, *state.queued), state.turn)
        ending = state.model_copy(update={"ending": _ENDED, "queued": (), "steering": ()})
        cancelled = cancel(ending)
        if isinstance(cancelled, Refusal):
            return Transition(ending, unread)
        return replace(cancelled, messages=(*unread, *cancelled.messages))

    return change


def settle_call(*, sent: bool, note: str | None = None, settled_by: str | None = None) -> Settle:
    """A person settles a call whose outcome is unknown, for the record.

    Args:
        sent: `True`: it took effect. `False`: it did not. Nothing is ever sent again because of it.
        note: What they know; at most 4,000 characters.
        settled_by: Who they are.

    Raises:
        InvalidRequest: `sent` is not a boolean, or a text cannot be stored.
    """
    if sent is not True and sent is not False:
        raise InvalidRequest(f"sent must be True or False, not {type(sent).__name__}.")
    if note is not None:
        check_text("note", note, _LONGEST_REJECTION)
    if settled_by is not None:
        check_text("settled_by", settled_by, _LONGEST_ID)

    def settle(state: SessionState, record: CallRecord) -> Transition | Refusal:
        if record.outcome is not OutcomeKind.OUTCOME_UNKNOWN:
            return Refusal(f"the outcome of {record.step_execution_id} is {record.outcome.value}, not unknown")
        settled = record.model_copy(
            update={
                "outcome": OutcomeKind.SUCCEEDED if sent else OutcomeKind.FAILED,
                "settled_by": "person",
                "settled_person": settled_by,
                "settled_at": now(),
                "note": note,
            }
        )
        return Transition(state, calls=(settled,), events=(settled_event(settled),))

    return settle


def resolve_interrupt(
    interrupt_id: str,
    *,
    approved: bool,
    rejection_message: str | None = None,
    decided_by: str | None = None,
) -> Change:
    """A person's decision about the call that waits.

    Args:
        interrupt_id: As the snapshot shows it; it names one call with its exact arguments.
        approved: Only `True` approves, only `False` rejects; anything else is an error.
        rejection_message: Reaches the model, with a rejection only.
        decided_by: Who decided, for the record.

    Raises:
        InvalidRequest: `approved` is not a boolean, or a text cannot be stored.
    """
    if approved is not True and approved is not False:
        raise InvalidRequest(f"approved must be True or False, not {type(approved).__name__}.")
    if rejection_message is not None and rejection_message != "":
        check_text("rejection_message", rejection_message, _LONGEST_REJECTION)
        if approved:
            raise InvalidRequest("rejection_message goes with approved=False: an approval carries no message.")

    if decided_by is not None:
        check_text("decided_by", decided_by, _LONGEST_ID)

    def change(state: SessionState) -> Transition | Refusal:
        interrupt = state.interrupt
        if interrupt is None or interrupt.interrupt_id != interrupt_id:
            return Refusal("no call waits under that interrupt ID")
        if state.decision is not None:
            return Refusal("the interrupt is resolved already")
        decision = Decision(
            interrupt_id=interrupt_id,
            fingerprint=interrupt.fingerprint,
            approved=approved,
            rejection_message=rejection_message or None,
            decided_by=decided_by,
            decided_at=now(),
        )
        event = NewEvent(
            kind=EventKind.INTERRUPT_RESOLVED,
            data={
                "interrupt_id": interrupt_id,
                "approved": approved,
                "rejection_message": decision.rejection_message,
                "decided_by": decided_by,
            },
        )
        return Transition(open_leg(state.model_copy(update={"decision": decision})), events=(event,))

    return change


def _accepted(message: UserMessage) -> NewEvent:
    return NewEvent(kind=EventKind.MESSAGE_ACCEPTED, data={"message_id": message.message_id, "text": message.text})


def _open_if_due(state: SessionState) -> SessionState:
    """A turn that ended while it waited may have begun the next one."""
    return open_leg(state) if state.due is not None else state
