"""A segment that was refused for what it holds: what was refused is left out, so that the next message works."""

from __future__ import annotations

from dexbridge.sessions.changes.left_out import drop_prompt, leave_out
from dexbridge.sessions.changes.notes import outcomes
from dexbridge.sessions.changes.turns import end_turn
from dexbridge.sessions.changes.withdrawal import stop_turn
from dexbridge.sessions.errors import Refused
from dexbridge.sessions.state.event import EventKind, NewEvent
from dexbridge.sessions.state.message import LeftOut
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.step import StepType
from dexbridge.sessions.state.transition import Change, Transition
from dexbridge.sessions.steps.context import StepContext, completed

__all__ = ["refused_segment"]


async def refused_segment(context: StepContext, reason: str, refused: Refused) -> Change:
    """Leaves out what was refused, and fails the turn.

    The turn goes on instead, with RunModel due again, when its messages may not be what was refused: they had not been
    given yet, or a note with words from outside stood before them, which is then given without those.
    """
    calls = await context.load_calls()

    def change(state: SessionState) -> Transition:
        done = completed(context, ended="refused", error=reason)
        if state.cancelling:
            return stop_turn(state, done)
        if refused is not Refused.CONVERSATION and any(
            not note.given and note.text != note.brief for note in state.notes
        ):
            notes = tuple(note.model_copy(update={"text": note.brief}) for note in state.notes)
            return Transition(state.model_copy(update={"notes": notes}).with_due(StepType.RUN_MODEL), events=(done,))
        if refused is Refused.MESSAGES:
            removed = drop_prompt(state, LeftOut.REFUSED, reason)
        else:
            removed = leave_out(state, calls, reason, prompt=refused is Refused.REQUEST)
        if refused is Refused.CONVERSATION:
            again = removed.state.with_due(StepType.RUN_MODEL)
            return Transition(again, messages=removed.messages, events=(done, *removed.events))
        error = f"{reason}{outcomes(call for call in calls if call.turn == state.turn)}"
        return end_turn(
            removed.state.model_copy(update={"last_error": error}),
            done,
            *removed.events,
            NewEvent(kind=EventKind.TURN_FAILED, data={"turn": state.turn, "error": error, "refused": refused.value}),
            messages=removed.messages,
        )

    return change
