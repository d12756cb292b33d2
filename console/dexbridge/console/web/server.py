"""A whole server: the session routes of some flows and the operators' page, at one address."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount

from dexbridge.console.web.keys import OPERATOR_KEY_VARIABLE, SESSION_KEY_VARIABLE, ServerKeys
from dexbridge.console.web.page import operator_page
from dexbridge.console.web.serving import allowed_hosts_of, check_bind, serve
from dexbridge.console.web.session_routes import session_routes
from dexbridge.console.web.streams import EventStreams
from dexbridge.console.web.tokens import Approvals
from dexbridge.sessions import AgentSessionClient, SessionEngine

__all__ = ["serve_sessions"]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def serve_sessions(
    engine: SessionEngine,
    *,
    routes: Mapping[str, str],
    keys: ServerKeys,
    host: str = "127.0.0.1",
    port: int = 8081,
    allow_hosts: Sequence[str] = (),
    slack_workspaces: Mapping[str, str] | None = None,
    approvals: Approvals = "operators",
    say: Callable[[str], None] = _say,
) -> None:
    """Serves until SIGINT or SIGTERM: the page at `/`, and the session routes where `routes` says.

    Args:
        engine: An entered engine.
        routes: Flow type by path, `{"/support": "OrderSupport"}`.
        keys: Of the server.
        host: The address to listen on.
        port: 0 takes a free one.
        allow_hosts: Names it answers to beside the loopback's.
        slack_workspaces: See `operator_page`.
        approvals: Who decides about calls, see `session_routes`.
        say: Gets the lines a person reads at the start: where it serves, and a random operator's key.

    Raises:
        UnsafeBind: `host` can be reached from elsewhere, and a key or the host names are missing.
        OSError: the address is taken.
    """
    check_bind(host, keys.given, allow_hosts)
    streams, allowed = EventStreams(), allowed_hosts_of(allow_hosts)
    mounts: list[BaseRoute] = [
        Mount(
            path,
            app=session_routes(
                AgentSessionClient(engine, flow_type),
                session_key=keys.session,
                session_prefix=path.rstrip("/").rpartition("/")[2],
                approvals=approvals,
                allowed_hosts=allowed,
                streams=streams,
            ),
        )
        for path, flow_type in routes.items()
    ]
    page = operator_page(
        engine,
        operator_key=keys.operator,
        allowed_hosts=allowed,
        streams=streams,
        slack_workspaces=slack_workspaces,
    )

    def ready(url: str) -> None:
        say(f"dexbridge serves on {url}")
        for path, flow_type in routes.items():
            say(f"  session routes of {flow_type}: {url}{path}")
        if routes and approvals == "session":
            say("  calls are decided by whoever holds the session's token, as well as by operators")
        say(f"  page for operators: {url}/")
        if keys.given[OPERATOR_KEY_VARIABLE] is None:
            say(f"  operator's key: {keys.operator}")
        unset = {SESSION_KEY_VARIABLE: "session tokens", OPERATOR_KEY_VARIABLE: "logins"}
        unset = {name: ends for name, ends in unset.items() if keys.given[name] is None}
        if unset:
            say(f"  {' and '.join(unset.values())} end with this process: set {' and '.join(unset)} to keep them")

    await serve(Starlette(routes=[*mounts, Mount("/", app=page)]), host=host, port=port, streams=streams, ready=ready)
