"""`dexbridge chat`: one session in the terminal."""

from __future__ import annotations

import shlex
from contextlib import AsyncExitStack
from typing import Annotated
from urllib.parse import urlsplit

import typer

from dexbridge.console.chat import Chat
from dexbridge.console.engine_options import DEFAULT_URL, AppOption, UrlOption, run
from dexbridge.console.flows import DEFAULT_APP, CannotLoad, open_flows
from dexbridge.console.terminal import Terminal
from dexbridge.sessions import AgentSessionClient, WorkerAlreadyRunning, open_engine

app = typer.Typer(invoke_without_command=True, subcommand_metavar="", pretty_exceptions_enable=False)


@app.callback()
def chat(
    context: typer.Context,
    app_name: AppOption = DEFAULT_APP,
    url: UrlOption = DEFAULT_URL,
    session: Annotated[str | None, typer.Option("--session", help="Goes on with this session.")] = None,
    flow: Annotated[str | None, typer.Option("--flow", help="Flow type, when the application has several.")] = None,
) -> None:
    """Talks to a session; a call that waits is shown with its arguments and asked about.

    Each line is a message. Outside a terminal the lines are read from standard input, and a call that waits ends the
    command with exit code 3, since nobody is there to decide. Exit code 1: a turn failed.
    """
    run(_chat(context, app_name, url, session, flow))


async def _chat(context: typer.Context, app_name: str, url: str, session: str | None, flow: str | None) -> int:
    terminal = Terminal()
    async with AsyncExitStack() as opened:
        flows = await opened.enter_async_context(open_flows(app_name))
        if not flows:
            raise CannotLoad(f"{app_name} registered no flow, so there is nobody to talk to.")
        try:
            engine = await opened.enter_async_context(open_engine(url, flows))
        except WorkerAlreadyRunning:
            engine = await opened.enter_async_context(open_engine(url, flows, run_steps=False))
            # The application may just have said that it serves a model and a Slack here; nothing will reach them.
            terminal.say(
                "A Worker runs on this database already; it runs the Steps, with its own model and connections. Posts "
                "go to the Slack of that process, not to a local one that was started here."
            )
        client = AgentSessionClient(engine, flow or flows[0].flow_type)
        chat = Chat(
            client,
            terminal,
            flow_options=_repeated(context, app_name=app_name, flow=flow),
            url_option=_repeated(context, url=url),
        )
        return await chat.run(session)


def _repeated(context: typer.Context, **values: str | None) -> str:
    """The options that were typed, each with a space before it, for a command that is to be pasted.

    What the environment says holds for that command too. A URL with a password is not shown again.
    """
    shown = ""
    for name, value in values.items():
        source = context.get_parameter_source(name)
        if value is not None and source is not None and source.name == "COMMANDLINE":
            shown += f" --{name.removesuffix('_name')} {'…' if _has_password(value) else shlex.quote(value)}"
    return shown


def _has_password(url: str) -> bool:
    parts = urlsplit(url)
    return parts.password is not None or "password" in parts.query
