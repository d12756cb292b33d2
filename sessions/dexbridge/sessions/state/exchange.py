"""What the model was given and has not finished, and what it must hear of what was left out of its conversation."""

from __future__ import annotations

from dexbridge.sessions.state.persisted import Persisted

__all__ = ["Exchange", "Note", "Rows"]

Rows = tuple[int, int]
"""A stretch of the transcript: its first row, counted from 0, and the row after its last one."""


class Exchange(Persisted):
    """From a message to the model's answer; over more than one turn when one failed or was cancelled on the way.

    Attributes:
        turn: The turn it began with.
        row: Where it begins in the transcript.
        given: IDs of its messages that the model has got in committed segments.
    """

    turn: int
    row: int
    given: tuple[str, ...] = ()


class Note(Persisted):
    """What the model is told of an exchange that was left out, before the next message; bounded.

    Attributes:
        text: Which calls were made in it, with their arguments and what became of them.
        brief: The same without a word from outside, for an API that refuses a request with `text` in it.
        given: Whether the model has got it in a committed segment. It is kept until that exchange is over, since that
            one may be left out too.
    """

    text: str
    brief: str
    given: bool = False
