"""`dexbridge sessions`: what an operator does without a browser."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from dexbridge.console.encodings import echo, typed
from dexbridge.console.engine_options import DEFAULT_URL, JsonOption, UrlOption, check_database, run
from dexbridge.console.person import local_user
from dexbridge.console.shown.overview import Overview
from dexbridge.console.shown.text import shortened
from dexbridge.console.shown.timeline import timeline
from dexbridge.console.shown.wording import left_out_label, settler
from dexbridge.console.terminal import Terminal
from dexbridge.sessions import AgentSessionClient, CallRecord, SessionSummary, open_engine

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="The session's ID.")]


@app.command("list")
def list_sessions(
    url: UrlOption = DEFAULT_URL,
    pending: Annotated[bool, typer.Option("--pending", help="Only those that wait for a decision.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Lists the sessions, the one that changed last first."""
    run(_list(url, pending, as_json))


@app.command()
def show(session: SessionArgument, url: UrlOption = DEFAULT_URL, as_json: JsonOption = False) -> None:
    """Shows one session: messages, Steps, every call whole, and what waits. The JSON is that of GET /snapshot."""
    run(_show(url, session, as_json))


@app.command()
def approve(
    session: SessionArgument,
    url: UrlOption = DEFAULT_URL,
    interrupt: Annotated[
        str | None, typer.Option("--interrupt", help="Approve this call without being asked, as a script does.")
    ] = None,
) -> None:
    """Approves the call that waits, after showing it. Exit code 1: nothing was approved."""
    run(_decide(url, session, interrupt, approved=True, reason=None))


@app.command()
def reject(
    session: SessionArgument,
    url: UrlOption = DEFAULT_URL,
    reason: Annotated[str | None, typer.Option("--reason", help="Reaches the agent.")] = None,
    interrupt: Annotated[
        str | None, typer.Option("--interrupt", help="Reject this call without being asked, as a script does.")
    ] = None,
) -> None:
    """Rejects the call that waits, after showing it. Exit code 1: nothing was rejected."""
    run(_decide(url, session, interrupt, approved=False, reason=reason))


@app.command()
def settle(
    session: SessionArgument,
    step: Annotated[str, typer.Argument(metavar="STEP", help="Such as CallSingleAttemptTool-1.")],
    sent: Annotated[
        bool | None, typer.Option("--sent/--not-sent", help="What is true; one of the two is needed.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    note: Annotated[str | None, typer.Option("--note", help="How you know.")] = None,
) -> None:
    """Says what became of a call whose outcome is unknown. Exit code 1: no such call, or it is settled already."""
    if sent is None:
        echo("Say what is true of the call: give --sent (it took effect) or --not-sent (it did not).", err=True)
        raise typer.Exit(2)
    run(_settle(url, session, step, sent, note))


@asynccontextmanager
async def _client(url: str) -> AsyncGenerator[AgentSessionClient]:
    check_database(url)
    async with open_engine(url, run_steps=False) as engine:
        # Reading and deciding need no flow.
        yield AgentSessionClient(engine, "-")


async def _list(url: str, pending: bool, as_json: bool) -> int:
    terminal = Terminal()
    async with _client(url) as sessions:
        lines = [line for line in await Overview(sessions).lines() if line.wants or not pending]
    if as_json:
        terminal.json([_as_json(line) for line in lines])
    elif not lines:
        terminal.say("Nothing waits for a decision." if pending else "There is no session.")
    else:
        terminal.table([_columns(line) for line in lines])
    return 0


async def _show(url: str, session_id: str, as_json: bool) -> int:
    terminal = Terminal()
    async with _client(url) as sessions:
        snapshot = await sessions.get_snapshot(session_id)
        events = [event async for event in sessions.read_events(session_id)]
    if as_json:
        terminal.json(snapshot.to_json())
        return 0
    terminal.title(f"{session_id}  {snapshot.state.flow_type}  {snapshot.state.status.value}")
    for message in snapshot.messages:
        terminal.say(f"{message.role.value}{left_out_label(message)}: {message.text}")
    for line in timeline(snapshot, events, {}):
        terminal.step(line)
    if snapshot.state.last_error:
        terminal.say(f"The turn failed. {snapshot.state.last_error}", style="31")
    for call in snapshot.calls:
        if call not in snapshot.unknown_calls:
            terminal.call(call)
    for call in snapshot.unknown_calls:
        terminal.unknown(call)
    if (waiting := snapshot.state.pending_interrupt) is not None:
        terminal.interrupt(waiting)
    return 0


async def _decide(url: str, session_id: str, interrupt_id: str | None, *, approved: bool, reason: str | None) -> int:
    terminal = Terminal()
    word = "approve" if approved else "reject"
    async with _client(url) as sessions:
        snapshot = await sessions.get_snapshot(session_id)
        waiting = snapshot.state.pending_interrupt
        if waiting is None or interrupt_id not in (None, waiting.interrupt_id):
            terminal.say("No call waits there." if waiting is None else "Another call waits there, not that one.")
            return 1
        terminal.said(snapshot)
        terminal.interrupt(waiting)
        if interrupt_id is None:
            if not terminal.can_ask:
                terminal.say(
                    f"Nobody can be asked here: give --interrupt {waiting.interrupt_id} to {word} just this call."
                )
                return 2
            if not await terminal.confirm(f"{word.capitalize()} this call?"):
                terminal.say("Nothing was decided.")
                return 1
        accepted = await sessions.resolve_interrupt(
            session_id,
            waiting.interrupt_id,
            approved=approved,
            rejection_message=None if reason is None else typed(reason),
            decided_by=local_user(),
        )
    terminal.say(("Approved." if approved else "Rejected.") if accepted else "It does not wait any more.")
    return 0 if accepted else 1


async def _settle(url: str, session_id: str, step: str, sent: bool, note: str | None) -> int:
    terminal = Terminal()
    async with _client(url) as sessions:
        note = None if note is None else typed(note)
        if await sessions.resolve_outcome(session_id, step, sent=sent, note=note, settled_by=local_user()):
            terminal.say("Settled.")
            return 0
        calls = (await sessions.get_snapshot(session_id)).calls
    terminal.say(_why_not_settled(step, next((call for call in calls if call.step_execution_id == step), None)))
    return 1


def _why_not_settled(step: str, call: CallRecord | None) -> str:
    if call is None:
        return f"No call was recorded for a Step {step}: dexbridge sessions show names the Steps there are."
    if call.settled_by is None:
        return f"The outcome of {step} was never unknown: {call.outcome.value}."
    return f"The outcome of {step} is settled already: {call.outcome.value}, by {settler(call)}."


def _columns(line: SessionSummary) -> tuple[str, ...]:
    return line.session_id, _doing(line), f"{line.updated_at:%Y-%m-%d %H:%M:%S}", shortened(line.title)


def _doing(line: SessionSummary) -> str:
    if line.unknown:
        return "OUTCOME UNKNOWN"
    if line.interrupt is not None:
        return "waits for approval"
    return "turn failed" if line.failed else line.status


def _as_json(line: SessionSummary) -> dict[str, object]:
    return {
        "session_id": line.session_id,
        "flow_type": line.flow_type,
        "status": line.status,
        "updated_at": line.updated_at.isoformat(),
        "title": shortened(line.title),
        "failed": line.failed,
        "pending_interrupt": None if line.interrupt is None else line.interrupt.model_dump(mode="json"),
        "outcomes_unknown": [call.step_execution_id for call in line.unknown],
    }
