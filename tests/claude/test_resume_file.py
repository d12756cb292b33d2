"""The file a new process resumes from: what is in it does not depend on how the CLI wrote its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dexbridge.claude.conversation.resume_file import resume_lines

Entry = dict[str, Any]


def said(kind: str, uuid: str, parent: str | None, *blocks: Mapping[str, Any], reply: str = "") -> Entry:
    message = {"role": kind, "content": list(blocks), **({"id": reply} if reply else {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": message}


def text(words: str) -> Entry:
    return {"type": "text", "text": words}


def call(tool_use_id: str) -> Entry:
    return {"type": "tool_use", "id": tool_use_id, "name": "mcp__tools__t", "input": {}}


def result(tool_use_id: str, words: str = "done") -> Entry:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": [text(words)]}


def deferral(uuid: str, parent: str, tool_use_id: str) -> Entry:
    attachment = {"type": "hook_deferred_tool", "toolUseID": tool_use_id}
    return {"type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": attachment}


# One answered turn, then a reply of four calls of which the first left: as the CLI 2.1.332 writes it.
FIRST = [
    said("user", "u1", None, text("hello")),
    said("assistant", "a1", "u1", text("hi"), reply="m1"),
]
REPLY = [
    said("user", "u2", "a1", text("do it")),
    said("assistant", "a2", "u2", text("I will."), reply="m2"),
    said("assistant", "a3", "a2", call("w"), reply="m2"),
    said("assistant", "a4", "a3", call("r1"), reply="m2"),
    said("assistant", "a5", "a4", call("r2"), reply="m2"),
    said("assistant", "a6", "a5", text("There."), reply="m2"),
]
DEFERRED = deferral("d", "a6", "w")
RESULTS = [said("user", "x1", "a4", result("r1")), said("user", "x2", "a5", result("r2"))]
BOOKKEEPING: list[Entry] = [
    {"type": "last-prompt", "lastPrompt": "hello", "leafUuid": "a1"},
    {"type": "queue-operation", "operation": "enqueue"},
    {"type": "tools-used", "tools": []},
]


def lines(entries: Sequence[Entry], pending: str | None = None) -> list[Entry]:
    return [json.loads(line) for line in resume_lines([json.dumps(entry) for entry in entries], pending)]


def order(entries: Sequence[Entry], pending: str | None = None) -> list[str]:
    """The lines' identities; each hangs on the one before it."""
    written = lines(entries, pending)
    assert [line["parentUuid"] for line in written] == [None, *(line["uuid"] for line in written[:-1])]
    return [line["uuid"] for line in written]


WHOLE = ["u1", "a1", "u2", "a2", "a3", "a4", "a5", "a6", "x1", "x2", "d"]


def test_the_deferral_comes_last_behind_the_results_of_the_reply() -> None:
    assert order([*FIRST, *REPLY, DEFERRED, *RESULTS], "w") == WHOLE


def test_the_deferral_of_a_call_that_has_its_result_is_left_out() -> None:
    later = [
        said("user", "x0", "a3", result("w")),
        said("user", "u3", "x0", text("Continue from where you left off.")),
        said("assistant", "a7", "u3", text("Done."), reply="m3"),
    ]
    assert order([*FIRST, *REPLY, DEFERRED, *RESULTS, *later]) == [*WHOLE[:8], "x0", "x1", "x2", "u3", "a7"]


@given(st.permutations(RESULTS), st.integers(0, 2), st.permutations(BOOKKEEPING), st.data())
def test_how_siblings_and_bookkeeping_stand_in_the_clis_file_changes_nothing(
    results: list[Entry], before: int, bookkeeping: list[Entry], data: st.DataObject
) -> None:
    entries = [*FIRST, *REPLY, *results[:before], DEFERRED, *results[before:]]
    for entry in bookkeeping:
        entries.insert(data.draw(st.integers(0, len(entries))), entry)

    assert order(entries, "w") == WHOLE


@given(st.data())
def test_results_written_while_the_reply_still_streamed_stand_behind_it(data: st.DataObject) -> None:
    entries = list(REPLY)
    for entry in RESULTS:
        asked = next(place for place, line in enumerate(entries) if line["uuid"] == entry["parentUuid"])
        entries.insert(data.draw(st.integers(asked + 1, len(entries))), entry)

    assert order([*FIRST, *entries, DEFERRED], "w") == WHOLE


def test_a_reply_that_was_broken_off_and_asked_for_again_is_left_out() -> None:
    broken = [
        said("assistant", "b1", "u2", text("I w"), reply="m0"),
        said("assistant", "b2", "b1", call("lost"), reply="m0"),
    ]
    entries = [*FIRST, REPLY[0], *broken, *REPLY[1:], DEFERRED, *RESULTS]

    assert order(entries, "w") == WHOLE


def test_what_the_cli_says_in_the_models_place_is_left_out() -> None:
    made_up = said("assistant", "s", "x2", text("No response requested."), reply="other")
    made_up["message"]["model"] = "<synthetic>"
    nothing = said("assistant", "n", "a6", text(" "), reply="m2")

    assert order([*FIRST, *REPLY, nothing, DEFERRED, *RESULTS, made_up], "w") == WHOLE


def test_replies_that_share_an_id_stay_two_replies() -> None:
    again = [*REPLY[:1], *(dict(line, message=dict(line["message"], id="m1")) for line in REPLY[1:])]

    assert order([*FIRST, *again, DEFERRED, *RESULTS], "w") == WHOLE


def test_what_hangs_on_a_line_that_is_gone_hangs_on_the_line_before_it() -> None:
    assert order([*FIRST, dict(REPLY[0], parentUuid="gone"), *REPLY[1:], *RESULTS, DEFERRED], "w") == WHOLE


def test_what_stands_before_a_compaction_is_kept_as_it_is() -> None:
    mark: Entry = {"type": "system", "subtype": "compact_boundary", "uuid": "c", "parentUuid": None}
    summary = said("user", "s1", "c", text("They said hello."))
    since = [said("assistant", "a9", "s1", text("And now?"), reply="m9")]
    before = [*FIRST, *REPLY, *RESULTS]

    written = lines([*before, mark, summary, *since])

    assert written == [*before, mark, summary, *since]


def test_lines_that_hang_right_are_written_as_they_were_stored() -> None:
    stored = [json.dumps(entry, indent=1).replace("\n", "") for entry in FIRST]

    assert resume_lines(stored) == stored
