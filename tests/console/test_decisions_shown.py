"""What a person is shown of a call, before and after the decision: all of it, and who decided."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dexbridge.sessions import AgentSessionClient, EventKind, open_engine
from tests.console.commands import Commands
from tests.console.processes import SCRIPTED
from tests.console.scripted_app import flows as scripted_flows

HIDDEN = "\u3164\u2800\u034f\ufe0f\U000e0100\u2061\u115f\u200d\u200c\U000e0041\u202e\u00a0\ufeff"
MARKS = [
    *("⟨U+3164⟩", "⟨U+2800⟩", "⟨U+034F⟩", "⟨U+FE0F⟩", "⟨U+E0100⟩", "⟨U+2061⟩", "⟨U+115F⟩", "⟨U+200D⟩", "⟨U+200C⟩"),
    *("⟨U+E0041⟩", "⟨U+202E⟩", "⟨U+00A0⟩", "⟨U+FEFF⟩"),
]
LONG = "".join(f"{number:04} " for number in range(100)).strip()


def call(tool: str, order_id: str) -> str:
    return f"call {tool} {json.dumps({'order_id': order_id})}"


@pytest.fixture
async def decided(tmp_path: Path) -> str:
    """A database with calls of every end: approved, rejected, taken back after and before a decision, settled."""
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    async with open_engine(url, scripted_flows()) as engine:
        sessions = AgentSessionClient(engine)
        await sessions.start_session("s-1")

        async def until(kind: EventKind) -> dict[str, object]:
            async for event in sessions.read_events("s-1", after=marks[-1], follow=True):
                if event.kind is kind:
                    marks.append(event.sequence)
                    return event.data
            raise AssertionError

        marks = [0]

        async def ask(tool: str, order_id: str) -> str:
            await sessions.send_user_message("s-1", call(tool, order_id))
            return str((await until(EventKind.INTERRUPT_OPENED))["interrupt_id"])

        first = await ask("cancel_order", f"approved {LONG}")
        await sessions.resolve_interrupt("s-1", first, approved=True, decided_by="ann")
        await until(EventKind.TURN_ANSWERED)
        second = await ask("cancel_order", f"rejected {LONG}")
        await sessions.resolve_interrupt("s-1", second, approved=False, rejection_message="No.", decided_by="bob")
        await until(EventKind.TURN_ANSWERED)
        await ask("cancel_order", f"withdrawn {LONG}")
        await sessions.cancel_turn("s-1")
        third = await ask("refund_order", f"settled {LONG}")
        await sessions.resolve_interrupt("s-1", third, approved=True, decided_by="cy")
        await until(EventKind.TURN_ANSWERED)
        await sessions.resolve_outcome(
            "s-1", "CallSingleAttemptTool-2", sent=True, note="It is in the books.", settled_by="dee"
        )
        await ask("cancel_order", f"waits {HIDDEN}")
    return url


async def test_every_call_is_shown_whole_with_who_decided_in_the_terminal(decided: str) -> None:
    commands = Commands(decided)
    shown = (await commands.run("sessions", "show", "s-1")).output
    blocks = {
        word: block
        for block in re.split(r"^(?=Call: |Waits for)", shown, flags=re.MULTILINE)
        for word in ("approved", "rejected", "withdrawn", "settled", "waits")
        if f'"order_id": "{word} ' in block
    }
    assert set(blocks) == {"approved", "rejected", "withdrawn", "settled", "waits"}
    for word in ("approved", "rejected", "withdrawn", "settled"):
        assert f'"order_id": "{word} {LONG}"' in blocks[word]
    when = r", \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    assert re.search(rf"decision    approved by ann{when}", blocks["approved"])
    assert re.search(rf"outcome     succeeded{when}", blocks["approved"])
    assert re.search(rf"decision    rejected by bob{when}", blocks["rejected"])
    assert "They said: No." in blocks["rejected"]
    assert "approved" not in blocks["rejected"]
    assert "decision    none recorded" in blocks["withdrawn"]
    assert re.search(rf"outcome     cancelled{when}", blocks["withdrawn"])
    assert re.search(rf"decision    approved by cy{when}", blocks["settled"])
    assert re.search(rf"settled     by dee, it was sent{when}: It is in the books\.", blocks["settled"])
    # The Steps say it too.
    assert "[approved by ann] Approval of cancel_order" in shown
    assert "[rejected by bob] Approval of cancel_order" in shown
    assert "[succeeded, settled by dee] refund_order" in shown


async def test_the_record_says_who_and_when(decided: str) -> None:
    ran = await Commands(decided).run("sessions", "show", "s-1", "--json")
    calls = json.loads(ran.output)["snapshot"]["calls"]
    assert [(one["decision"], one["decided_by"], one["settled_person"]) for one in calls] == [
        ("approved", "ann", None),
        ("rejected", "bob", None),
        (None, None, None),
        ("approved", "cy", "dee"),
    ]
    assert all((one["decided_at"] is None) == (one["decision"] is None) for one in calls)
    assert all("approved_by" not in one for one in calls)


async def test_what_one_cannot_see_in_an_argument_is_marked_in_the_terminal(decided: str) -> None:
    shown = (await Commands(decided).run("sessions", "show", "s-1")).output
    title, _, rest = shown.partition("Waits for approval: ")[2].partition("\n")
    assert "".join(MARKS) in rest
    assert MARKS[0] in title
    assert not set(HIDDEN) & set(rest)


async def test_a_text_that_looks_like_a_mark_reads_differently(tmp_path: Path) -> None:
    commands = Commands(f"sqlite:///{tmp_path / 'sessions.db'}")
    ran = await commands.run("chat", "--app", SCRIPTED, given=call("cancel_order", "⟨U+200B⟩") + "\n")
    assert '"order_id": "⟨U+27E8⟩U+200B⟩"' in ran.output
