"""How a turn begins, is steered, and ends; pure changes of the state."""

from __future__ import annotations

from collections.abc import Iterable

from dexbridge.sessions.changes.left_out import begin_exchange
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.message import LeftOut, Message, Role, UserMessage
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import Leg, SessionState, SessionStatus
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Change, Refusal, Transition

__all__ = [
    "assistant_messages",
    "begin_turn",
    "end_session",
    "end_turn",
    "open_leg",
    "reopen_leg",
    "take_steering",
    "unread_messages",
]


def open_leg(state: SessionState) -> SessionState:
    """Returns the state with a leg open, so that an engine runs what is due."""
    if state.leg is not None:
        return state
    number = state.legs + 1
    return state.model_copy(update={"legs": number, "leg": Leg(number=number), "status": SessionStatus.RUNNING})


def reopen_leg(number: int) -> Change:
    """The change that gives an open leg another number, when whatever ran it has ended without closing it."""

    def change(state: SessionState) -> Transition | Refusal:
        if state.leg is None or state.leg.number != number:
            return Refusal("the leg is over")
        return Transition(open_leg(state.model_copy(update={"leg": None})))

    return change


def begin_turn(state: SessionState, message: UserMessage) -> Transition:
    """A turn begins with a message. Messages of a failed turn, which the model never saw, come before it."""
    turn = state.turn + 1
    begun = begin_exchange(state, turn).model_copy(
        update={"turn": turn, "prompt": (*state.prompt, message), "last_error": None, "cancelling": False}
    )
    return Transition(
        begun.with_due(StepType.RUN_MODEL),
        messages=(_user_message(message, turn),),
        events=(NewEvent(kind=EventKind.TURN_STARTED, data={"turn": turn, "message_id": message.message_id}),),
    )


def take_steering(state: SessionState) -> tuple[SessionState, tuple[Message, ...]]:
    """The steering messages become part of the turn's prompt; the model gets them in the next segment."""
    taken = state.model_copy(update={"prompt": (*state.prompt, *state.steering), "steering": ()})
    return taken, tuple(_user_message(message, state.turn) for message in state.steering)


def end_turn(state: SessionState, *events: NewEvent, messages: tuple[Message, ...] = ()) -> Transition:
    """The turn is over; the next waiting message begins another one. A session that is ending ends here."""
    over = state.model_copy(
        update={
            "due": None,
            "call": None,
            "interrupt": None,
            "decision": None,
            "cancelling": False,
            "queued": (*state.steering, *state.queued),
            "steering": (),
            "status": SessionStatus.IDLE,
        }
    )
    if over.ending is not None:
        ended = end_session(over, over.ending)
        return Transition(ended.state, (*messages, *ended.messages), events=(*events, *ended.events))
    if not over.queued:
        return Transition(over.model_copy(update={"leg": None}), messages=messages, events=events)
    following = begin_turn(over.model_copy(update={"queued": over.queued[1:]}), over.queued[0])
    return Transition(following.state, messages=(*messages, *following.messages), events=(*events, *following.events))


def end_session(state: SessionState, reason: str) -> Transition:
    """The session is over for good; what was said and done in it stays readable."""
    ended = state.model_copy(
        update={"status": SessionStatus.ENDED, "queued": (), "steering": (), "leg": None, "due": None, "prompt": ()}
    )
    unread = unread_messages((*state.steering, *state.queued), state.turn)
    return Transition(ended, unread, events=(NewEvent(kind=EventKind.SESSION_ENDED, data={"reason": reason}),))


def unread_messages(messages: Iterable[UserMessage], turn: int) -> tuple[Message, ...]:
    """Accepted messages that no turn will take any more, as lines of the conversation with their mark."""
    lines = [_user_message(message, turn) for message in messages]
    return tuple(line.model_copy(update={"left_out": LeftOut.CANCELLED}) for line in lines)


def assistant_messages(state: SessionState, texts: Iterable[str]) -> tuple[Message, ...]:
    """What the agent said, each text a line of the conversation; nothing for a blank one."""
    return tuple(Message(role=Role.ASSISTANT, text=text, turn=state.turn, at=now()) for text in texts if text.strip())


def _user_message(message: UserMessage, turn: int) -> Message:
    return Message(role=Role.USER, text=message.text, turn=turn, at=message.accepted_at, message_id=message.message_id)
