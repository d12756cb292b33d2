"""`dexbridge worker`: runs the Steps of an application's sessions, and serves nothing."""

from __future__ import annotations

import asyncio
import signal

import typer

from dexbridge.console.engine_options import DEFAULT_URL, AppOption, UrlOption, run
from dexbridge.console.flows import DEFAULT_APP, open_flows
from dexbridge.console.signals import not_ignored
from dexbridge.console.terminal import Terminal
from dexbridge.sessions import open_engine

app = typer.Typer(invoke_without_command=True, subcommand_metavar="", pretty_exceptions_enable=False)


@app.callback()
def worker(app_name: AppOption = DEFAULT_APP, url: UrlOption = DEFAULT_URL) -> None:
    """Runs Steps until it is told to stop (SIGINT, SIGTERM); a call under way may end first, for up to 35 s."""
    run(_work(app_name, url))


async def _work(app_name: str, url: str) -> int:
    terminal = Terminal()
    stop = asyncio.Event()
    for one in not_ignored(signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(one, stop.set)
    async with open_flows(app_name) as flows, open_engine(url, flows):
        names = ", ".join(flow.flow_type for flow in flows)
        terminal.say(f"The Worker runs the sessions of {names}." if names else "No flow is registered; nothing runs.")
        await stop.wait()
        terminal.say("Stopping.")
    return 0
