"""Terminals that cannot show everything, and people the system has no name for: no decision is lost on them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from dexbridge.sessions import AgentSessionClient, EventKind, open_engine
from tests.console.commands import Commands
from tests.console.processes import SCRIPTED
from tests.console.scripted_app import flows as scripted_flows

POOR = {
    "ascii": ({"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, "ascii"),
    "latin-1": ({"PYTHONIOENCODING": "latin-1"}, "latin-1"),
    "posix": ({"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "ascii"),
}
ORDER = "Größe 10 € \u3164"
CANCEL = f"call cancel_order {json.dumps({'order_id': ORDER}, ensure_ascii=False)}"


async def prepared(url: str, *sessions: str) -> list[str]:
    """Sessions in which a call waits; their interrupts."""
    found: list[str] = []
    async with open_engine(url, scripted_flows()) as engine:
        client = AgentSessionClient(engine)
        for session in sessions:
            await client.start_session(session)
            await client.send_user_message(session, CANCEL)
            async for event in client.read_events(session, follow=True):
                if event.kind is EventKind.INTERRUPT_OPENED:
                    found.append(event.data["interrupt_id"])
                    break
    return found


async def decisions(url: str, *sessions: str) -> list[tuple[bool, str | None, str | None]]:
    found: list[tuple[bool, str | None, str | None]] = []
    async with open_engine(url, run_steps=False) as engine:
        for session in sessions:
            decision = (await AgentSessionClient(engine, "-").get_snapshot(session)).state.decision
            assert decision is not None
            found.append((decision.approved, decision.rejection_message, decision.decided_by))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", POOR)
async def test_a_call_is_shown_and_decided_in_a_terminal_that_lacks_characters(tmp_path: Path, kind: str) -> None:
    more, encoding = POOR[kind]
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    interrupts = await prepared(url, "s-1", "s-2")
    commands = Commands(url, more, encoding=encoding)
    shown = '"order_id": "Größe 10 \\u20ac \\u27e8U+3164\\u27e9"'
    if encoding == "ascii":
        shown = shown.replace("ö", "\\xf6").replace("ß", "\\xdf")
    approved = await commands.in_terminal("sessions", "approve", "s-1", answers=[("[y/n] ", "y\n")])
    assert shown in approved.output
    assert (approved.code, "Approved." in approved.output) == (0, True)
    # A reason in bytes that the locale does not know is taken as the UTF-8 it is.
    rejecting = ("sessions", "reject", "s-2", "--interrupt", interrupts[1], "--reason", "Größe falsch")
    rejected = await commands.run(*rejecting)
    assert rejected.code == 0, rejected.errors
    assert [decision[:2] for decision in await decisions(url, "s-1", "s-2")] == [(True, None), (False, "Größe falsch")]
    if kind == "ascii":
        for arguments in (("list",), ("show", "s-1")):
            ran = await commands.run("sessions", *arguments)
            assert (ran.code, ran.errors, "\\u20ac" in ran.output) == (0, "", True)


async def test_a_conversation_goes_through_a_terminal_that_lacks_characters(tmp_path: Path) -> None:
    more, encoding = POOR["posix"]
    commands = Commands(f"sqlite:///{tmp_path / 'sessions.db'}", more, encoding=encoding)
    escaped = 'call cancel_order {"order_id": "\\u20ac \\u3164"}\n'
    ran = await commands.in_terminal(
        *("chat", "--app", SCRIPTED),
        answers=[
            ("> ", escaped),
            ('"order_id": "\\u20ac \\u27e8U+3164\\u27e9"', ""),
            ("Approve this call? [y/n] ", "y\n"),
            ("done with \\u20ac", ""),
            ("> ", "\x04"),
        ],
    )
    assert (ran.code, "Traceback" in ran.output) == (0, False), ran.output


async def test_an_answer_in_bytes_the_terminal_does_not_know_is_asked_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    await prepared(url, "s-1")
    commands = Commands(url, POOR["ascii"][0], encoding="latin-1")
    ran = await commands.in_terminal(
        *("sessions", "reject", "s-1"), answers=[("[y/n] ", "ÿ\n"), ("Answer y or n.", ""), ("[y/n] ", "y\n")]
    )
    assert (ran.code, "Rejected." in ran.output) == (0, True), ran.output
    assert [decision[0] for decision in await decisions(url, "s-1")] == [False]


@pytest.mark.parametrize("kind", ["ascii", "latin-1"])
async def test_faults_of_a_connection_file_are_shown_in_a_terminal_that_lacks_characters(
    tmp_path: Path, kind: str
) -> None:
    more, encoding = POOR[kind]
    ran = await Commands("", more, encoding=encoding).run("config", "check", str(tmp_path / "of 10 €.toml"))
    assert (ran.code, ran.errors) == (2, "")
    assert "of 10 \\u20ac.toml" in ran.output


UID = 12345
STRANGER = ("setpriv", "--reuid", str(UID), "--clear-groups")
NAMELESS = ("env", "-u", "USER", "-u", "LOGNAME", *STRANGER)
LEFT_OVER = ("env", "USER=root", "LOGNAME=root", *STRANGER)

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can become a user the system does not know"
)


@pytest.fixture
def theirs() -> Generator[Path]:
    """A folder of theirs; pytest's own are for their owner only."""
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, UID, UID)
        yield Path(folder)


def _give_all(folder: Path) -> None:
    for one in folder.iterdir():
        os.chown(one, UID, UID)


@needs_root
@pytest.mark.parametrize("under", [NAMELESS, LEFT_OVER], ids=["no name", "a name left over"])
async def test_a_user_the_system_has_no_name_for_decides(theirs: Path, under: Sequence[str]) -> None:
    url = f"sqlite:///{theirs / 'sessions.db'}"
    (interrupt,) = await prepared(url, "s-1")
    _give_all(theirs)
    ran = await Commands(url, under=under).run("sessions", "approve", "s-1", "--interrupt", interrupt)
    assert (ran.code, "Approved." in ran.output) == (0, True), ran.errors
    assert await decisions(url, "s-1") == [(True, None, "uid 12345")]
