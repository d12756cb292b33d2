"""`dexbridge serve`: session routes and the operators' page, with or without a Worker in the same process."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dexbridge.console.engine_options import DEFAULT_URL, AppOption, UrlOption, run
from dexbridge.console.flows import DEFAULT_APP, open_flows
from dexbridge.console.web import Approvals, ServerKeys, check_bind, serve_sessions
from dexbridge.sessions import open_engine

app = typer.Typer(invoke_without_command=True, subcommand_metavar="", pretty_exceptions_enable=False)


@app.callback()
def serve(
    *,
    app_name: AppOption = DEFAULT_APP,
    url: UrlOption = DEFAULT_URL,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8081,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="A host name it answers to; may be given several times.")
    ] = None,
    worker: Annotated[
        bool,
        typer.Option("--worker/--no-worker", help="Whether this process runs Steps too; else start dexbridge worker."),
    ] = True,
    slack_workspace: Annotated[
        list[str] | None,
        typer.Option(
            "--slack-workspace",
            metavar="CONNECTION=URL",
            help="Makes links to posted messages: support-slack=https://acme.slack.com",
        ),
    ] = None,
    approvals: Annotated[
        Approvals,
        typer.Option(help="Who decides about calls: operators alone, or whoever holds the session's token too."),
    ] = "operators",
) -> None:
    """Serves the session routes of every flow at /agents/<flow type>, and the operators' page at /.

    Keys come from DEX_AGENT_SESSION_KEY and DEX_OPERATOR_KEY; each is random when it is not set.
    """
    run(
        _serve(
            app_name,
            url,
            host=host,
            port=port,
            allow_hosts=allow_host or [],
            worker=worker,
            workspaces=_workspaces(slack_workspace or []),
            approvals=approvals,
        )
    )


async def _serve(
    app_name: str,
    url: str,
    *,
    host: str,
    port: int,
    allow_hosts: list[str],
    worker: bool,
    workspaces: dict[str, str],
    approvals: Approvals,
) -> int:
    keys = ServerKeys.from_environment(os.environ)
    # Before anything is opened: a start that is refused should not have run a Step.
    check_bind(host, keys.given, allow_hosts)
    async with open_flows(app_name) as flows, open_engine(url, flows, run_steps=worker) as engine:
        await serve_sessions(
            engine,
            routes={f"/agents/{flow.flow_type}": flow.flow_type for flow in flows},
            keys=keys,
            host=host,
            port=port,
            allow_hosts=allow_hosts,
            slack_workspaces=workspaces,
            approvals=approvals,
        )
    return 0


def _workspaces(given: list[str]) -> dict[str, str]:
    workspaces: dict[str, str] = {}
    for one in given:
        connection, _, address = one.partition("=")
        if not connection or not address.startswith("https://"):
            raise typer.BadParameter(f"{one!r} must be CONNECTION=https://workspace.slack.com")
        workspaces[f"slack/{connection}"] = address
    return workspaces
