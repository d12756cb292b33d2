"""The commands as a person and as a script run them: processes, their output, their exit codes."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path

import pytest

from dexbridge.console.chat import Chat
from dexbridge.console.flows import CannotLoad, open_flows
from dexbridge.console.terminal import Terminal
from dexbridge.sessions import AgentSessionClient, EventKind, open_engine
from tests.console.commands import Commands
from tests.console.conftest import ROOT, SCRIPTED
from tests.console.scripted_app import flows as scripted_flows

CANCEL = 'call cancel_order {"order_id": "%s"}'
REFUND = 'call refund_order {"order_id": "1"}'


async def test_a_script_talks_and_nobody_is_asked_behind_its_back(commands: Commands) -> None:
    ran = await commands.run("chat", "--app", SCRIPTED, given=f"hello\n{CANCEL % 1}\ny\ny\n")
    assert ran.code == 3, ran.errors
    assert "\nagent: you said hello\n" in ran.output
    assert "\x1b" not in ran.output
    line = await commands.pending()
    assert f"dexbridge sessions approve {line['session_id']}" in ran.output


async def test_what_it_says_to_paste_works_where_it_was_said(commands: Commands, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a b.db"
    first = await commands.run("chat", "--app", SCRIPTED, "--url", url, "--flow", "Scripted", given=CANCEL % 1)
    again = re.search(r"Go on with it later: dexbridge (chat .*)", first.output)
    approve = re.search(r"dexbridge (sessions approve .*), or reject", first.output)
    assert again is not None
    assert approve is not None
    shown = await commands.run(*shlex.split(approve[1]))
    assert (shown.code, "cancel_order" in shown.output) == (2, True)
    resumed = await commands.run(*shlex.split(again[1]))
    assert (resumed.code, "cancel_order" in resumed.output) == (3, True)


async def test_what_the_agent_said_before_its_call_is_shown_once_where_a_person_is_asked(commands: Commands) -> None:
    first = await commands.run("chat", "--app", SCRIPTED, given=f"hello\n{CANCEL % 1}\n")
    session = str((await commands.pending())["session_id"])
    approve = await commands.run("sessions", "approve", session)
    resumed = await commands.run("chat", "--app", SCRIPTED, "--session", session)
    for output, said in ((first.output, "agent"), (approve.output, "agent"), (resumed.output, "assistant")):
        assert output.count("I call cancel_order.") == 1
        assert output.index(f"{said}: I call cancel_order.") < output.index("Waits for approval:")
    assert first.output.count("you said hello") == 1
    assert "you said hello" not in approve.output


async def test_a_person_sees_the_arguments_and_approves(commands: Commands) -> None:
    ran = await commands.in_terminal(
        "chat",
        "--app",
        SCRIPTED,
        answers=[
            ("> ", CANCEL % r"7\u001b]0;owned\u0007\u202e" + "\n"),
            ("Approve this call? [y/n] ", "y\n"),
            ("done with 7", ""),
            ("> ", CANCEL % 8 + "\n"),
            ("Approve this call? [y/n] ", "yse\n"),
            ("Answer y or n.", ""),
            ("Approve this call? [y/n] ", "\n"),
            ("Approve this call? [y/n] ", "n\n"),
            ("Reason", "Not today.\n"),
            ("Rejected; the call is not made.", ""),
            ("They said: Not today.", ""),
            ("> ", CANCEL % 9 + "\n"),
            ("Approve this call? [y/n] ", "\x04"),
            ("The input has ended without an answer, so the call goes on waiting", ""),
        ],
    )
    assert ran.code == 3, ran.output
    assert (await commands.pending())["pending_interrupt"]["arguments"] == {"order_id": "9"}  # type: ignore[index]
    assert "cancel_order" in ran.output
    # Our own colours are the only escape sequences.
    assert set(re.findall(r"\x1b.{0,2}", ran.output)) <= {"\x1b[0", "\x1b[1", "\x1b[3"}
    assert "\u202e" not in ran.output
    assert "⟨U+001B⟩]0;owned" in ran.output


async def test_what_ran_inside_the_agents_process_has_a_line(commands: Commands) -> None:
    talked = await commands.run("chat", "--app", SCRIPTED, given="inside ls\n")
    assert talked.output.index("Inside · Bash") < talked.output.index("agent: you said inside ls")
    assert talked.output.count("Model · answers") == 1

    (session,) = json.loads((await commands.run("sessions", "list", "--json")).output)
    shown = (await commands.run("sessions", "show", session["session_id"])).output
    assert "[begun by the agent in attempt 1, " in shown
    assert '{"command": "inside ls"}' in shown


async def test_a_text_from_outside_cannot_forge_a_line_of_ours(commands: Commands) -> None:
    forged = r"ok\nOUTCOME UNKNOWN: forged\n  [done] forged"
    ran = await commands.run("chat", "--app", SCRIPTED, given=f'call look_up_order {{"order_id": "{forged}"}}\n')
    (line,) = json.loads((await commands.run("sessions", "list", "--json")).output)
    shown = await commands.run("sessions", "show", line["session_id"])
    resumed = await commands.run("chat", "--app", SCRIPTED, "--session", line["session_id"])
    for output in (ran.output, shown.output, resumed.output):
        assert "\n    OUTCOME UNKNOWN: forged\n      [done] forged" in output
        assert not re.search(r"^(OUTCOME|  \[done\] forged)", output, re.MULTILINE)


async def test_silence_is_explained_once(tmp_path: Path) -> None:
    output = io.StringIO()
    async with open_engine(f"sqlite:///{tmp_path / 'sessions.db'}", scripted_flows()) as engine:
        terminal = Terminal(output, io.StringIO("slow one\n"))
        assert await Chat(AgentSessionClient(engine), terminal, quiet_seconds=0.1).run(None) == 0
    assert output.getvalue().count("no answer from the model's API yet") == 1
    assert "agent: you said slow one" in output.getvalue()


@pytest.mark.slow
async def test_an_operator_decides_and_settles_beside_a_worker(commands: Commands) -> None:
    async with commands.worker():
        chat = await commands.run("chat", "--app", SCRIPTED, given=REFUND)
        assert "A Worker runs on this database already" in chat.output
        assert "Posts go to the Slack of that process" in chat.output
        assert chat.code == 3
        line = await commands.pending()
        session = str(line["session_id"])
        interrupt = str(line["pending_interrupt"]["interrupt_id"])  # type: ignore[index]
        asked = await commands.run("sessions", "approve", session)
        assert (asked.code, interrupt in asked.output) == (2, True)
        assert (await commands.run("sessions", "approve", session, "--interrupt", interrupt)).code == 0
        resumed = await commands.run("chat", "--app", SCRIPTED, "--session", session)
        assert resumed.code == 0
    shown = await commands.run("sessions", "show", session)
    assert "OUTCOME UNKNOWN: refund_order: order_id 1" in shown.output
    settled = await commands.run(
        "sessions", "settle", session, "CallSingleAttemptTool-1", "--not-sent", "--note", "Seen."
    )
    assert settled.code == 0
    again = await commands.run("sessions", "settle", session, "CallSingleAttemptTool-1", "--sent")
    assert (again.code, "is settled already: failed, by " in again.output) == (1, True)
    unsaid = await commands.run("sessions", "settle", session, "CallSingleAttemptTool-1")
    assert (unsaid.code, "--sent" in unsaid.errors, "--not-sent" in unsaid.errors) == (2, True, True)
    snapshot = json.loads((await commands.run("sessions", "show", session, "--json")).output)["snapshot"]
    (call,) = snapshot["calls"]
    assert (call["outcome"], call["settled_by"], call["note"]) == ("failed", "person", "Seen.")


async def test_a_rejection_is_made_in_a_terminal(commands: Commands) -> None:
    await commands.run("chat", "--app", SCRIPTED, given=CANCEL % 1)
    session = str((await commands.pending())["session_id"])
    rejecting = ["sessions", "reject", session, "--reason", "No."]
    kept = await commands.in_terminal(*rejecting, answers=[("Reject this call? [y/n] ", "n\n")])
    assert (kept.code, "Nothing was decided." in kept.output) == (1, True)
    gone = await commands.in_terminal(*rejecting, answers=[("Reject this call? [y/n] ", "y\n")])
    assert (gone.code, "Rejected." in gone.output) == (0, True)


@pytest.mark.slow
async def test_what_cannot_be_settled_is_said(commands: Commands) -> None:
    await commands.run("chat", "--app", SCRIPTED, given='call look_up_order {"order_id": "1"}\n')
    (line,) = json.loads((await commands.run("sessions", "list", "--json")).output)
    session = str(line["session_id"])
    shown = json.loads((await commands.run("sessions", "show", session, "--json")).output)["snapshot"]
    known = await commands.run("sessions", "settle", session, shown["calls"][0]["step_execution_id"], "--sent")
    assert (known.code, "was never unknown: succeeded" in known.output) == (1, True)
    none = await commands.run("sessions", "settle", session, "CallSingleAttemptTool-7", "--sent")
    assert (none.code, "No call was recorded for a Step CallSingleAttemptTool-7" in none.output) == (1, True)


@pytest.mark.slow
async def test_the_operator_commands_of_the_quick_start_work(commands: Commands) -> None:
    """Each line as bash reads it, on a session of its own that wants it."""
    document = (ROOT / "docs" / "quick-start.md").read_text()
    lines = re.findall(r"^dexbridge (sessions (show|approve|reject|settle) .*)$", document, re.MULTILINE)
    assert [deed for _, deed in lines] == ["show", "approve", "approve", "reject", "settle"]
    interrupts: list[str] = []
    async with open_engine(commands.url, scripted_flows()) as engine:
        sessions = AgentSessionClient(engine)
        for number, (_, deed) in enumerate(lines):
            await sessions.start_session(f"s-{number}")
            await sessions.send_user_message(f"s-{number}", REFUND)
            async for event in sessions.read_events(f"s-{number}", follow=True):
                if event.kind is EventKind.INTERRUPT_OPENED:
                    interrupts.append(event.data["interrupt_id"])
                    if deed != "settle":
                        break
                    await sessions.resolve_interrupt(f"s-{number}", interrupts[-1], approved=True)
                elif event.kind is EventKind.TURN_ANSWERED:
                    break
    for number, (line, deed) in enumerate(lines):
        given = line.replace("$session", f"s-{number}").replace("$interrupt", interrupts[number])
        arguments = shlex.split(given, comments=True)
        if deed == "approve" and "--interrupt" not in arguments:
            ran = await commands.in_terminal(*arguments, answers=[("Approve this call? [y/n] ", "y\n")])
        else:
            ran = await commands.run(*arguments)
        assert ran.code == 0, f"{line}\n{ran.output}{ran.errors}"


@pytest.fixture
def empty(tmp_path: Path) -> Commands:
    """A database without a session."""
    (tmp_path / "empty.db").touch()
    return Commands(f"sqlite:///{tmp_path / 'empty.db'}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serve", "--app", "none_such:flows"], "There is no module 'none_such'"),
        (["serve", "--app", "tests.console.scripted_app"], "must be module:attribute"),
        (["serve", "--app", "tests.console.scripted_app:nothing"], "has no function 'nothing'"),
        (["serve", "--app", "tests.console.scripted_app:no_flows"], "must give AgentSessionFlow values"),
        (["serve", "--host", "0.0.0.0", "--app", SCRIPTED], "--allow-host"),
        (["sessions", "show", "none"], "There is no session 'none'"),
        (["sessions", "list", "--url", "sqlite:///no-such-folder/x.db"], "There is no database"),
    ],
)
async def test_mistakes_are_one_sentence(empty: Commands, arguments: list[str], said: str) -> None:
    ran = await empty.run(*arguments)
    assert ran.code == 2
    assert said in ran.errors
    assert "Traceback" not in ran.errors


async def test_an_application_may_open_what_its_flows_need() -> None:
    with pytest.raises(CannotLoad):
        async with open_flows("tests.console.scripted_app:no_flows"):
            pass
    for name in (SCRIPTED, "tests.console.scripted_app:opened"):
        async with open_flows(name) as flows:
            assert [flow.flow_type for flow in flows] == ["Scripted"]
