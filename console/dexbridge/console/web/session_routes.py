"""The session routes: what an application's own front end calls. Mount them where they should be.

The routes, their bodies and the header are those of the Dex documentation, "Session routes".
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, get_args

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dexbridge.console.web.bodies import (
    AcceptedAnswer,
    EventsQuery,
    ResolveInterruptBody,
    SendMessageBody,
    SessionBody,
    SessionQuery,
    StartedAnswer,
    StartSessionBody,
    SteerBody,
)
from dexbridge.console.web.guards import LOOPBACK_HOSTS, SECURITY_HEADERS, Guard
from dexbridge.console.web.openapi import openapi_document
from dexbridge.console.web.reading import read_json, read_query
from dexbridge.console.web.refusals import Refused, refusal, status_refusal
from dexbridge.console.web.streams import EventStreams, encode_session_event, encoded_text
from dexbridge.console.web.tokens import TOKEN_HEADER, Approvals, SessionTokens
from dexbridge.sessions import AgentSessionClient, CommitUnclear, DatabaseUnavailable, InvalidRequest, UnknownSession

__all__ = ["session_routes"]

logger = logging.getLogger(__name__)

_DECIDED_BY: Final = "holder of the session token"
_OPERATORS_DECIDE: Final = (
    "A session token does not decide about calls here: an operator does, on the operators' page or with dexbridge "
    'sessions. Where the holder is the right person to ask, serve the routes with approvals="session" (dexbridge serve '
    "--approvals session)."
)
# The one member of each body that the sessions, beyond its type, check: what a route's InvalidRequest is about.
_TEXT_OF: Final[Mapping[str, str]] = {
    "sessions": "message",
    "messages": "text",
    "steer": "text",
    "resolve": "rejection_message",
}


def session_routes(
    sessions: AgentSessionClient,
    *,
    session_key: str | bytes,
    session_prefix: str = "session",
    approvals: Approvals = "operators",
    token_lifetime: timedelta = timedelta(days=30),
    allowed_hosts: Sequence[str] = LOOPBACK_HOSTS,
    streams: EventStreams | None = None,
) -> Starlette:
    """Returns the routes as an ASGI application to mount.

        Mount("/support", app=session_routes(AgentSessionClient(engine), session_key=key))

    `POST /sessions`, `/messages`, `/interrupts/resolve`, `/turns/cancel`, `/turns/steer`, `GET /snapshot`, `/events`
    (server-sent events) and `/openapi.json`. Anyone who reaches `POST /sessions` may start a session; everything else
    needs that session's token in `X-Agent-Session-Token`. There is no CORS, so pages of other origins cannot call them.

    Args:
        sessions: Sessions of the flow that is started here.
        session_key: Signs the tokens, of 16 characters or more; the same in every process that serves these routes.
        session_prefix: Session IDs begin with it. Tokens are good only for routes with the same prefix.
        approvals: Who decides about the calls of these sessions. `"operators"`: people on the operators' page or at a
            terminal; `/interrupts/resolve` answers 403. `"session"`: whoever holds the session's token, too, as in the
            Dex documentation; right where that is the person to ask, wrong where it is the customer the agent serves.
        token_lifetime: How long a token is good.
        allowed_hosts: Names the Host header may have.
        streams: Shared with the server that stops them; own ones when left out.

    Raises:
        ValueError: `approvals` is neither, or the key is shorter than 16 characters.
    """
    if approvals not in get_args(Approvals):
        raise ValueError(f'approvals must be "operators" or "session", not {approvals!r}.')
    routes = _SessionRoutes(
        sessions,
        SessionTokens(session_key, session_prefix, token_lifetime),
        session_prefix,
        streams or EventStreams(),
        approvals,
    )
    return Starlette(
        routes=[
            Route("/sessions", routes.start_session, methods=["POST"]),
            Route("/messages", routes.send_message, methods=["POST"]),
            Route("/interrupts/resolve", routes.resolve_interrupt, methods=["POST"]),
            Route("/turns/cancel", routes.cancel_turn, methods=["POST"]),
            Route("/turns/steer", routes.steer, methods=["POST"]),
            Route("/snapshot", routes.snapshot, methods=["GET"]),
            Route("/events", routes.events, methods=["GET"]),
            Route("/openapi.json", routes.document, methods=["GET"]),
        ],
        middleware=[Middleware(Guard, allowed_hosts=allowed_hosts)],
        exception_handlers={
            Refused: _refused,
            InvalidRequest: _invalid,
            UnknownSession: _unknown,
            DatabaseUnavailable: _unavailable,
            HTTPException: _http,
            Exception: _broken,
        },
    )


@dataclass(frozen=True, slots=True)
class _SessionRoutes:
    sessions: AgentSessionClient
    tokens: SessionTokens
    prefix: str
    streams: EventStreams
    approvals: Approvals

    async def start_session(self, request: Request) -> Response:
        body = await read_json(request, StartSessionBody)
        if body.message is not None:
            # A session that was given nothing is not left behind.
            self.sessions.check_message(body.message)
        # The server picks the ID, so that a caller cannot claim a session that exists.
        session_id = f"{self.prefix}-{uuid.uuid4()}"
        await self.sessions.start_session(session_id)
        if body.message is not None:
            await self.sessions.send_user_message(session_id, body.message)
        answer = StartedAnswer(session_id=session_id, session_token=self.tokens.sign(session_id))
        return JSONResponse(answer.model_dump())

    async def send_message(self, request: Request) -> Response:
        body = await read_json(request, SendMessageBody)
        self._authorize(request, body.session_id)
        return await _accepted(self.sessions.send_user_message(body.session_id, body.text, message_id=body.message_id))

    async def resolve_interrupt(self, request: Request) -> Response:
        body = await read_json(request, ResolveInterruptBody)
        self._authorize(request, body.session_id)
        if self.approvals != "session":
            raise Refused(403, [("approvals", _OPERATORS_DECIDE)])
        return await _accepted(
            self.sessions.resolve_interrupt(
                body.session_id,
                body.interrupt_id,
                approved=body.approved,
                rejection_message=body.rejection_message,
                decided_by=_DECIDED_BY,
            )
        )

    async def cancel_turn(self, request: Request) -> Response:
        body = await read_json(request, SessionBody)
        self._authorize(request, body.session_id)
        return await _accepted(self.sessions.cancel_turn(body.session_id))

    async def steer(self, request: Request) -> Response:
        body = await read_json(request, SteerBody)
        self._authorize(request, body.session_id)
        return await _accepted(self.sessions.steer(body.session_id, body.text, message_id=body.message_id))

    async def snapshot(self, request: Request) -> Response:
        query = read_query(request, SessionQuery)
        self._authorize(request, query.session_id)
        snapshot = await self.sessions.get_snapshot(query.session_id)
        return JSONResponse(snapshot.to_json())

    async def events(self, request: Request) -> Response:
        last = request.headers.get("last-event-id")
        # A client that comes back says where it was; that is newer than the address it was given at first.
        query = read_query(request, EventsQuery, {"after": last} if last else None)
        self._authorize(request, query.session_id)
        # A session that is not there is said now: once a stream has begun it is too late for a status.
        await self.sessions.get_snapshot(query.session_id)
        events = self.sessions.read_events(query.session_id, after=query.after, follow=query.follow)
        text = [encoded_text(self.sessions, query.session_id)] if query.text else []
        sent = (encode_session_event(event) async for event in events)
        return self.streams.of_session(query.session_id, sent, *text)

    async def document(self, request: Request) -> Response:
        return JSONResponse(openapi_document(str(request.scope.get("root_path", "")), self.approvals))

    def _authorize(self, request: Request, session_id: str) -> None:
        self.tokens.check(request.headers.get(TOKEN_HEADER), session_id)


async def _accepted(asked: Awaitable[bool]) -> Response:
    return JSONResponse(AcceptedAnswer(accepted=await asked).model_dump())


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return refusal(error)


def _invalid(request: Request, error: Exception) -> Response:
    return refusal(Refused(400, [(_TEXT_OF.get(request.url.path.rpartition("/")[2], "body"), str(error))]))


def _unknown(_request: Request, _error: Exception) -> Response:
    return refusal(Refused(404, [("session_id", "The session is missing or no longer retained.")]))


def _unavailable(_request: Request, error: Exception) -> Response:
    told = str(error) if isinstance(error, CommitUnclear) else "The database did not answer; ask again."
    return refusal(Refused(503, [("database", told)], {"Retry-After": "2"}))


def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return status_refusal(error.status_code, error.headers)


def _broken(request: Request, error: Exception) -> Response:
    # Its text may hold anything; the type and the route are enough to look for it.
    logger.error("%s %s raised %s.", request.method, request.url.path, type(error).__name__)
    # Starlette answers a crash from outside of the guard.
    return status_refusal(500, SECURITY_HEADERS)
