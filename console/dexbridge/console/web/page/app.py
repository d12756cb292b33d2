"""The operators' page as an ASGI application to mount."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from dexbridge.console.shown.overview import Overview
from dexbridge.console.shown.text import plain
from dexbridge.console.shown.timeline import timeline
from dexbridge.console.web.bodies import EventsQuery
from dexbridge.console.web.guards import LOOPBACK_HOSTS, SECURITY_HEADERS, Guard
from dexbridge.console.web.page.access import Access, Operator
from dexbridge.console.web.page.actions import NOTES, Actions
from dexbridge.console.web.page.forms import read_form
from dexbridge.console.web.page.templates_of import FOLDER, render
from dexbridge.console.web.reading import read_query
from dexbridge.console.web.refusals import Refused
from dexbridge.console.web.streams import EventStreams, encode_event, encoded_text
from dexbridge.sessions import (
    AgentSessionClient,
    DatabaseUnavailable,
    InvalidRequest,
    SessionEngine,
    SessionSummary,
    UnknownSession,
)

__all__ = ["operator_page"]

logger = logging.getLogger(__name__)

_HEADERS: Final[Mapping[str, str]] = {
    **SECURITY_HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
}
_SHOWN_EVENTS: Final = 600
_SHOWN_MESSAGES: Final = 200
_SHOWN_CALLS: Final = 100
_LONGEST_PLACE: Final = 1_000
_LONGEST_LOGIN: Final = 16 * 1024

Page = Callable[[Request, Operator], Awaitable[Response]]


def operator_page(
    engine: SessionEngine,
    *,
    operator_key: str,
    allowed_hosts: Sequence[str] = LOOPBACK_HOSTS,
    streams: EventStreams | None = None,
    slack_workspaces: Mapping[str, str] | None = None,
    title: str = "dexbridge",
) -> Starlette:
    """Returns the page as an ASGI application: every session of an engine, what waits for a decision, and the decision.

        Mount("/operate", app=operator_page(engine, operator_key=key))

    Args:
        engine: An entered engine; sessions are started here for the flows it was given.
        operator_key: Whoever knows it may see every session and decide about every call.
        allowed_hosts: Names the Host header may have.
        streams: Shared with the server that stops them; own ones when left out.
        slack_workspaces: Address of the Slack workspace, such as `https://acme.slack.com`, by `slack/<connection>`;
            with it a posted message gets a link.
        title: Stands in the head of every page.
    """
    page = _OperatorPage(
        engine, Access(operator_key, engine.marks), streams or EventStreams(), slack_workspaces or {}, title
    )
    return Starlette(
        routes=[
            Route("/", page.guarded(page.sessions), methods=["GET"]),
            Route("/inbox", page.guarded(page.inbox), methods=["GET"]),
            Route("/session", page.guarded(page.session), methods=["GET"]),
            Route("/live", page.guarded(page.live), methods=["GET"]),
            Route("/do/{deed}", page.do, methods=["POST"]),
            Route("/login", page.login, methods=["GET", "POST"]),
            Route("/static/{name:path}", page.static, methods=["GET"]),
        ],
        middleware=[Middleware(Guard, allowed_hosts=allowed_hosts, headers=_HEADERS)],
        exception_handlers={
            Refused: page.refused,
            InvalidRequest: page.refused,
            UnknownSession: page.refused,
            DatabaseUnavailable: page.refused,
            HTTPException: page.refused,
            Exception: page.refused,
        },
    )


class _Static(StaticFiles):
    """Kept by the browser, and asked for again by its tag: an upgrade shows at once."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


class _OperatorPage:
    def __init__(
        self, engine: SessionEngine, access: Access, streams: EventStreams, workspaces: Mapping[str, str], title: str
    ) -> None:
        self._flow_types = [flow.flow_type for flow in engine.flows]
        # Reading and deciding need no flow, and a process without flows can do both.
        self._clients = {name: AgentSessionClient(engine, name) for name in self._flow_types}
        self._reader = next(iter(self._clients.values()), None) or AgentSessionClient(engine, "-")
        self._overview = Overview(self._reader)
        self._actions = Actions(self._reader, self._clients)
        self._access = access
        self._streams = streams
        self._workspaces = workspaces
        self._title = title
        self._static = _Static(directory=FOLDER / "static")

    async def static(self, request: Request) -> Response:
        # Not mounted: what is not found must be answered by this page, with its own addresses.
        name: str = request.path_params["name"]
        if not name.isprintable():
            raise HTTPException(404)
        return await self._static.get_response(name, request.scope)

    def guarded(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        """The page for those who logged in; the others get to the form first."""

        async def guarded_page(request: Request) -> Response:
            operator = await self._access.operator(request)
            if operator is not None:
                return await page(request, operator)
            if request.url.path.endswith("/live"):
                return Response(status_code=401)
            back = request.url.path.removeprefix(_base(request)) + (
                f"?{request.url.query}" if request.url.query else ""
            )
            keeps = back != "/" and len(back) <= _LONGEST_PLACE
            return _see(request, f"/login?then={quote(back, safe='')}" if keeps else "/login")

        return guarded_page

    async def sessions(self, request: Request, operator: Operator) -> Response:
        lines = await self._overview.lines()
        return self._html(request, operator, "sessions.html", lines, lines=lines, flow_types=self._flow_types)

    async def inbox(self, request: Request, operator: Operator) -> Response:
        lines = await self._overview.lines()
        return self._html(
            request, operator, "inbox.html", lines, lines=[line for line in lines if line.wants], note=_note(request)
        )

    async def session(self, request: Request, operator: Operator) -> Response:
        session_id, whole = request.query_params.get("id", ""), "all" in request.query_params
        snapshot = await self._reader.get_snapshot(session_id)
        after = 0 if whole else max(0, snapshot.last_event - _SHOWN_EVENTS)
        events = [event async for event in self._reader.read_events(session_id, after=after)]
        return self._html(
            request,
            operator,
            "session.html",
            await self._overview.lines(),
            snapshot=snapshot,
            state=snapshot.state,
            interrupt=snapshot.state.pending_interrupt,
            unknown=snapshot.unknown_calls,
            steps=timeline(snapshot, events, self._workspaces),
            messages=snapshot.messages if whole else snapshot.messages[-_SHOWN_MESSAGES:],
            calls=snapshot.calls if whole else snapshot.calls[-_SHOWN_CALLS:],
            left_out=after > 0
            or (not whole and (len(snapshot.messages) > _SHOWN_MESSAGES or len(snapshot.calls) > _SHOWN_CALLS)),
            known=snapshot.state.flow_type in self._clients or not self._clients,
            note=_note(request),
        )

    async def live(self, request: Request, operator: Operator) -> Response:
        async def still() -> bool:
            try:
                return await self._access.operator(request) is not None
            except DatabaseUnavailable:
                return True

        if "session_id" not in request.query_params:
            read_query(request, EventsQuery, {"session_id": "-"})
            return self._streams.of_login(operator.login, still, _changes(self._overview))
        last = request.headers.get("last-event-id")
        query = read_query(request, EventsQuery, {"after": last} if last else None)
        await self._reader.get_snapshot(query.session_id)
        return self._streams.of_login(
            operator.login,
            still,
            _session_changes(self._reader, query.session_id, query.after),
            encoded_text(self._reader, query.session_id, plain),
        )

    async def do(self, request: Request) -> Response:
        self._access.check_origin(request)
        operator = await self._access.operator(request)
        if operator is None:
            return _see(request, "/login")
        form = await read_form(request)
        self._access.check_form(operator, form.get("form_token", ""))
        deed = request.path_params["deed"]
        if deed == "log-out":
            response = _see(request, "/login")
            await self._access.log_out(request, response, operator)
            return response
        return _see(request, await self._actions.do(deed, operator, form))

    async def login(self, request: Request) -> Response:
        wrong = False
        then = request.query_params.get("then", "/")
        if request.method == "POST":
            self._access.check_origin(request)
            # Anyone may send one.
            form = await read_form(request, _LONGEST_LOGIN)
            then = form.get("then", "/")
            response = _see(request, then if _is_ours(then) else "/")
            if await self._access.log_in(
                request, response, form.get("key", ""), (form.text("name") or "operator")[:80]
            ):
                return response
            wrong = True
        return HTMLResponse(
            render(
                "login.html", base=_base(request), title=self._title, then=then if _is_ours(then) else "/", wrong=wrong
            ),
            status_code=403 if wrong else 200,
        )

    def refused(self, request: Request, error: Exception) -> Response:
        """The page that says why nothing was done."""
        match error:
            case Refused(status=status, faults=faults):
                said = [f"{at}: {message}" for at, message in faults]
            case UnknownSession():
                status, said = 404, ["There is no such session in this database: it may have been pruned."]
            case InvalidRequest():
                status, said = 400, [str(error)]
            case DatabaseUnavailable():
                status, said = 503, ["The database did not answer. Nothing was changed; try again."]
            case HTTPException(status_code=status):
                said = ["There is nothing here."] if status == 404 else []
            case _:
                logger.error("%s %s raised %s.", request.method, request.url.path, type(error).__name__)
                status, said = 500, ["Something went wrong here; the server's log names it."]
        text = render("refused.html", base=_base(request), title=self._title, status=status, said=said)
        more = error.headers if isinstance(error, Refused) else None
        return HTMLResponse(text, status_code=status, headers={**_HEADERS, **(more or {})})

    def _html(
        self, request: Request, operator: Operator, template: str, every: Sequence[SessionSummary], **values: Any
    ) -> Response:
        return HTMLResponse(
            render(
                template,
                base=_base(request),
                title=self._title,
                operator=operator,
                pending=sum(line.wants for line in every),
                **values,
            )
        )


async def _changes(overview: Overview) -> AsyncGenerator[bytes]:
    async for _ in overview.changes():
        yield encode_event("changed", {})


async def _session_changes(sessions: AgentSessionClient, session_id: str, after: int) -> AsyncGenerator[bytes]:
    # No content: the page is read again, so that what is shown is always what is committed.
    async for event in sessions.read_events(session_id, after=after, follow=True):
        yield encode_event("changed", {}, event.sequence)


def _note(request: Request) -> str:
    """A sentence of ours, by the word in the address; never the address itself."""
    return NOTES.get(request.query_params.get("note", ""), "")


def _base(request: Request) -> str:
    return str(request.scope.get("root_path", "")).rstrip("/")


def _see(request: Request, path: str) -> RedirectResponse:
    return RedirectResponse(f"{_base(request)}{path}", status_code=303)


def _is_ours(path: str) -> bool:
    """Whether a path stays on this page; `//host` and `/\\host` would not."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
