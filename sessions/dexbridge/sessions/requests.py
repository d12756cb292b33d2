"""What people ask of a session, as pure changes of its state."""

from __future__ import annotations

import uuid

from dexbridge.sessions.errors import InvalidRequest
from dexbridge.sessions.event import EventKind, NewEvent
from dexbridge.sessions.flow import SessionLimits
from dexbridge.sessions.interrupt import Decision
from dexbridge.sessions.message import UserMessage
from dexbridge.sessions.persisted import now
from dexbridge.sessions.state import SessionState, SessionStatus
from dexbridge.sessions.transition import Change, Refusal, Transition
from dexbridge.sessions.turns import begin_turn, open_leg

__all__ = ["accept_message", "check_text", "new_session", "resolve_interrupt"]

_LONGEST_REJECTION = 4_000
_LONGEST_ID = 200


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
        InvalidRequest: Not a string, blank, too long, or with a NUL or half a surrogate pair.
    """
    if not isinstance(text, str):
        raise InvalidRequest(f"{what} must be a string, not {type(text).__name__}.")
    if not text.strip():
        raise InvalidRequest(f"{what} is blank: give it some text.")
    if len(text) > longest:
        raise InvalidRequest(f"{what} has {len(text)} characters, the limit is {longest}: shorten it.")
    if "\x00" in text:
        raise InvalidRequest(f"{what} holds a NUL character, which cannot be stored: remove it.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequest(f"{what} holds half of a surrogate pair, which is no text: remove it.") from None
    return text


def accept_message(limits: SessionLimits, text: str, message_id: str | None = None) -> Change:
    """A user message begins a turn, or waits in the queue while another runs."""
    text = check_text("The message", text, limits.message_characters)
    if message_id is not None:
        check_text("message_id", message_id, _LONGEST_ID)
    message = UserMessage(message_id=message_id or str(uuid.uuid4()), text=text, accepted_at=now())

    def change(state: SessionState) -> Transition | Refusal:
        if state.status is SessionStatus.ENDED:
            return Refusal("the session has ended")
        accepted = NewEvent(
            kind=EventKind.MESSAGE_ACCEPTED, data={"message_id": message.message_id, "text": message.text}
        )
        if state.status is SessionStatus.IDLE:
            begun = begin_turn(state, message)
            return Transition(open_leg(begun.state), begun.messages, events=(accepted, *begun.events))
        if len(state.queued) >= limits.queued_messages:
            return Refusal(f"{limits.queued_messages} messages are waiting already")
        return Transition(state.model_copy(update={"queued": (*state.queued, message)}), events=(accepted,))

    return change


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
