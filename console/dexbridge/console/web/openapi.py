"""The OpenAPI document of the session routes, made from the models the routes use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from dexbridge.console.web.bodies import (
    LARGEST_SEQUENCE,
    AcceptedAnswer,
    ErrorAnswer,
    ResolveInterruptBody,
    SendMessageBody,
    SessionBody,
    SnapshotAnswer,
    StartedAnswer,
    StartSessionBody,
    SteerBody,
)
from dexbridge.console.web.tokens import TOKEN_HEADER, Approvals
from dexbridge.sessions import EventKind

__all__ = ["openapi_document"]

_MODELS: Final[tuple[type[BaseModel], ...]] = (
    AcceptedAnswer,
    ErrorAnswer,
    ResolveInterruptBody,
    SendMessageBody,
    SessionBody,
    SnapshotAnswer,
    StartSessionBody,
    StartedAnswer,
    SteerBody,
)
_REFUSALS: Final[Mapping[int, str]] = {
    400: "The request is malformed; every fault is listed.",
    401: "The session token is missing, forged or expired.",
    403: "The session token is another session's, or decides about no calls here: then a fault says so.",
    404: "The session is missing or no longer retained.",
    408: "The body had not come within 10 s.",
    413: "The body is longer than 2 MiB.",
    414: "The query is longer than 8 KiB.",
    415: "The body is not declared as application/json.",
    421: "The server does not answer to that host name.",
    429: "The session has as many event streams open as it may have.",
    431: "There are more than 100 headers.",
    503: "The database did not answer, or too many event streams are open.",
}
_OF_ANY_REQUEST: Final = (400, 414, 421, 431)
_OF_EVERY_ROUTE: Final = (*_OF_ANY_REQUEST, 503)
_OF_BODIES: Final = (408, 413, 415)
_OF_A_SESSION: Final = (401, 403, 404)
_SESSION_ID: Final[Mapping[str, Any]] = {
    "name": "session_id",
    "in": "query",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
_SEQUENCE: Final[Mapping[str, Any]] = {"type": "integer", "minimum": 0, "maximum": LARGEST_SEQUENCE}

_EVENT_FIELDS: Final[Mapping[str, Any]] = {
    "id": {"type": "string", "description": "The event's sequence."},
    "event": {"type": "string", "enum": [*(kind.value for kind in EventKind), "text"]},
    "data": {"type": "string", "description": "The event as JSON: sequence, at, kind, data."},
}


_DECIDES: Final[Mapping[Approvals, str]] = {
    "operators": "Decides about the call that waits; here always 403, since operators decide.",
    "session": "Decides about the call that waits.",
}


def openapi_document(mounted_at: str = "", approvals: Approvals = "operators") -> dict[str, Any]:
    """The document.

    Args:
        mounted_at: The path the routes are mounted at, such as `/support`.
        approvals: As the routes were given it.
    """
    _, definitions = models_json_schema(
        [(model, "validation") for model in _MODELS], ref_template="#/components/schemas/{model}"
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dexbridge session routes",
            "version": "1",
            "description": "Start a session, talk to it, decide about the call that waits, read it.",
        },
        "servers": [{"url": mounted_at or "/"}],
        "paths": {
            "/sessions": {
                "post": _post(
                    "Starts a session; the server picks its ID.", StartSessionBody, StartedAnswer, needs_token=False
                )
            },
            "/messages": {"post": _post("Gives the session a user message.", SendMessageBody)},
            "/interrupts/resolve": {"post": _post(_DECIDES[approvals], ResolveInterruptBody)},
            "/turns/cancel": {"post": _post("Cancels the turn that runs.", SessionBody)},
            "/turns/steer": {"post": _post("Gives the turn that runs one more message.", SteerBody)},
            "/snapshot": {
                "get": {
                    "summary": "What is committed of the session.",
                    "operationId": "snapshot",
                    "security": [{"session_token": []}],
                    "parameters": [dict(_SESSION_ID)],
                    "responses": {
                        "200": {"description": "The snapshot.", "content": _json(SnapshotAnswer)},
                        **_refusals(*_OF_EVERY_ROUTE, *_OF_A_SESSION),
                    },
                }
            },
            "/events": {"get": _events()},
            "/openapi.json": {
                "get": {
                    "summary": "This document.",
                    "operationId": "openapi",
                    "responses": {
                        "200": {
                            "description": "The document.",
                            "content": {"application/json": {"schema": {"type": "object"}}},
                        },
                        **_refusals(*_OF_ANY_REQUEST),
                    },
                }
            },
        },
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"session_token": {"type": "apiKey", "in": "header", "name": TOKEN_HEADER}},
        },
    }


def _post(
    summary: str, body: type[BaseModel], answer: type[BaseModel] = AcceptedAnswer, *, needs_token: bool = True
) -> dict[str, Any]:
    refused = (*_OF_EVERY_ROUTE, *_OF_BODIES, *(_OF_A_SESSION if needs_token else ()))
    return {
        "summary": summary,
        "security": [{"session_token": []}] if needs_token else [],
        "requestBody": {"required": True, "content": _json(body)},
        "responses": {
            "200": {
                "description": "Whether it was accepted." if needs_token else "The session.",
                "content": _json(answer),
            },
            **_refusals(*refused),
        },
    }


def _events() -> dict[str, Any]:
    return {
        "summary": "The session's events as server-sent events; the ID of each is its sequence.",
        "operationId": "events",
        "security": [{"session_token": []}],
        "parameters": [
            dict(_SESSION_ID),
            {
                "name": "after",
                "in": "query",
                "description": "Only events after this sequence.",
                "schema": {**_SEQUENCE, "default": 0},
            },
            {
                "name": "follow",
                "in": "query",
                "description": "Whether the stream stays open for events to come.",
                "schema": {"type": "boolean", "default": True},
            },
            {
                "name": "text",
                "in": "query",
                "description": "Whether pieces of text come too, as the model writes them: `text` events without an "
                "ID, best effort, only from the process that runs the Steps.",
                "schema": {"type": "boolean", "default": False},
            },
            {
                "name": "Last-Event-ID",
                "in": "header",
                "description": "The last sequence a client that comes back has seen; stands over `after`.",
                "schema": dict(_SEQUENCE),
            },
        ],
        "responses": {
            "200": {
                "description": "The stream.",
                # One event; its data is the event's JSON as text.
                "content": {"text/event-stream": {"schema": {"type": "object", "properties": _EVENT_FIELDS}}},
            },
            **_refusals(*_OF_EVERY_ROUTE, *_OF_A_SESSION, 429),
        },
    }


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def _refusals(*statuses: int) -> dict[str, Any]:
    return {
        str(status): {"description": _REFUSALS[status], "content": _json(ErrorAnswer)} for status in sorted(statuses)
    }
