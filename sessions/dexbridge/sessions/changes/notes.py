"""The words of a note: what was done in an exchange that was left out of the model's conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable

from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.exchange import Note

__all__ = ["note_of", "outcomes"]

_MOST_CALLS = 100
_LONGEST_PART = 2_000
_LONGEST = 20_000
_HEAD = (
    "[Note of the system, not of the user: what came here before was taken out of this conversation, because the "
    "model's API refused it. The user knows."
)
_NOTHING = f"{_HEAD} No call was made in it.]"
_STAYS = (
    "What was done in it stays done: do not ask for a call again because you cannot see it here. Its calls, and what "
    "became of them:"
)


def note_of(calls: Iterable[CallRecord]) -> Note:
    """The note for the calls of an exchange: each with its outcome; arguments and texts cut to some 2,000 characters.

    A very long note is cut further, to some 20,000 characters and the last 100 calls.
    """
    made = list(calls)
    if not made:
        return Note(text=_NOTHING, brief=_NOTHING)
    shown = made[-_MOST_CALLS:]
    longest = min(_LONGEST_PART, _LONGEST // (2 * len(shown)))
    left = [] if len(shown) == len(made) else [f"- {len(made) - len(shown)} earlier ones, not listed"]
    full = [
        f"- {call.tool} {_cut(json.dumps(call.arguments, ensure_ascii=False), longest)}: "
        f"{call.outcome.value}: {_cut(call.text, longest)}"
        for call in shown
    ]
    brief = [f"- {call.tool}: {call.outcome.value}" for call in shown]
    return Note(text=_note([*left, *full]), brief=_note([*left, *brief]))


def outcomes(calls: Iterable[CallRecord]) -> str:
    """The calls and their outcomes in a sentence for people; empty without calls."""
    made = [f"{call.tool}: {call.outcome.value.replace('_', ' ')}" for call in calls]
    return f" What was called: {', '.join(made)}." if made else ""


def _note(lines: list[str]) -> str:
    return "\n".join([f"{_HEAD} {_STAYS}", *lines]) + "]"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… [{len(text) - longest} characters left out]"
