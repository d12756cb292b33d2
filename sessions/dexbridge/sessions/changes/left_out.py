"""What the model is not given again: messages, and the rows of the transcript they stand in. Pure changes of the state.

The provider refuses a request for what it holds, and holds on to that: so what was refused leaves the conversation,
and stays in the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dexbridge.sessions.changes.notes import note_of
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.exchange import Exchange, Note, Rows
from dexbridge.sessions.state.message import LeftOut, Message, left_out_answers, left_out_message
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.transition import TranscriptEntry

__all__ = ["Removal", "begin_exchange", "drop_prompt", "kept_rows", "leave_out", "prompt_texts", "with_given"]


@dataclass(frozen=True, slots=True)
class Removal:
    """A state from which something was left out, the marks of its messages, and the event that says so."""

    state: SessionState
    messages: tuple[Message, ...]
    events: tuple[NewEvent, ...]


def begin_exchange(state: SessionState, turn: int) -> SessionState:
    """The state with which a turn begins. An exchange whose call has a result the model has not got goes on."""
    if state.result is not None:
        return state
    notes = tuple(note for note in state.notes if not note.given)
    exchange = Exchange(turn=turn, row=state.transcript_rows)
    return state.model_copy(update={"exchange": exchange, "notes": notes})


def with_given(state: SessionState) -> SessionState:
    """The model has got the notes and the messages of the prompt in a segment that is kept."""
    exchange = state.exchange
    if exchange is not None:
        given = (*exchange.given, *(message.message_id for message in state.prompt))
        exchange = exchange.model_copy(update={"given": given})
    notes = tuple(note.model_copy(update={"given": True}) for note in state.notes)
    return state.model_copy(update={"exchange": exchange, "notes": notes, "prompt": (), "result": None})


def prompt_texts(state: SessionState) -> list[str]:
    """What the next segment gives the model: notes it has not got, then the messages."""
    return [*(note.text for note in state.notes if not note.given), *(message.text for message in state.prompt)]


def kept_rows(entries: Sequence[TranscriptEntry], left_out: Iterable[Rows]) -> Sequence[TranscriptEntry]:
    """The transcript without what is left out."""
    gone = {row for first, end in left_out for row in range(first, end)}
    return [entry for row, entry in enumerate(entries) if row not in gone]


def drop_prompt(state: SessionState, why: LeftOut, reason: str | None = None) -> Removal:
    """Leaves out the messages the model has not got; a result it has not got stays."""
    ids = [message.message_id for message in state.prompt]
    return _removal(state.model_copy(update={"prompt": ()}), ids, why, reason)


def leave_out(state: SessionState, calls: Iterable[CallRecord], reason: str, *, prompt: bool) -> Removal:
    """Leaves out the exchange the API refused; what was done in it becomes a note.

    Args:
        state: Of the turn that was refused.
        calls: Every call of the session.
        reason: What a person is told of the refusal.
        prompt: Whether the messages of the prompt were refused with it.
    """
    # A turn that an earlier version began has no exchange: then nothing less than everything is known to hold it.
    exchange = state.exchange or Exchange(turn=1, row=0)
    ids = [*exchange.given, *((message.message_id for message in state.prompt) if prompt else ())]
    notes = tuple(Note(text=note.brief, brief=note.brief) for note in state.notes)
    left_out = state.left_out
    if exchange.row < state.transcript_rows:
        notes = (*notes, note_of(call for call in calls if call.turn >= exchange.turn))
        left_out = _joined(left_out, (exchange.row, state.transcript_rows))
    removed = state.model_copy(
        update={
            "exchange": Exchange(turn=state.turn, row=state.transcript_rows),
            "notes": notes,
            "left_out": left_out,
            "prompt": () if prompt else state.prompt,
            "result": None,
        }
    )
    removal = _removal(removed, ids, LeftOut.REFUSED, reason)
    return replace(removal, messages=(*removal.messages, left_out_answers(exchange.turn)))


def _removal(state: SessionState, ids: Sequence[str], why: LeftOut, reason: str | None) -> Removal:
    marks = tuple(left_out_message(identity, why, state.turn) for identity in ids)
    event = NewEvent(
        kind=EventKind.LEFT_OUT,
        data={
            "turn": state.turn,
            "why": why.value,
            "message_ids": list(ids),
            "error": reason,
            "notes": [note.text for note in state.notes if not note.given],
        },
    )
    return Removal(state, marks, (event,))


def _joined(left_out: tuple[Rows, ...], rows: Rows) -> tuple[Rows, ...]:
    if left_out and left_out[-1][1] >= rows[0]:
        return (*left_out[:-1], (min(left_out[-1][0], rows[0]), rows[1]))
    return (*left_out, rows)
