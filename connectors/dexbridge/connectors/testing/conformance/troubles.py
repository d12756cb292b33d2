"""What can become of a request, as every local server can play it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dexbridge.connectors.http.pool import MAX_BODY_BYTES
from dexbridge.connectors.testing.conformance.stage import LATE
from dexbridge.connectors.testing.faults import (
    Answer,
    AnswerLate,
    DropAfterPost,
    DropBeforeRead,
    DropWithoutPost,
    Fault,
    OversizedAnswer,
    TruncatedAnswer,
    html,
    redirect,
)


@dataclass(frozen=True)
class Trouble:
    """One fault with a name.

    Args:
        name: for the test's ID.
        fault: what the server does; a status of 0 stands for that of the right answer.
        is_late: the fault takes longer than an impatient client waits.
        spoils_body: only the body is wrong.
        may_be_read: a Query may take this body for a good, empty answer.
    """

    name: str
    fault: Fault
    is_late: bool = False
    spoils_body: bool = False
    may_be_read: bool = False

    def __str__(self) -> str:
        return self.name

    def with_status(self, status: int) -> Fault:
        """The fault with the status of the right answer filled in."""
        if isinstance(self.fault, Answer) and self.fault.status == 0:
            fault = self.fault
            return Answer(status, fault.body, fault.content_type, fault.headers, fault.posted)
        return self.fault


UNCLEAR: Final = (
    Trouble("carried out, then dropped", DropAfterPost()),
    Trouble("read, then dropped", DropWithoutPost()),
    Trouble("dropped before the body was read", DropBeforeRead()),
    Trouble("answered too late", AnswerLate(LATE), is_late=True),
    Trouble("HTTP 500", Answer(500, '{"error":"internal"}', posted=True)),
    Trouble("HTTP 502 with HTML", html(502)),
    Trouble("HTTP 503", Answer(503, '{"error":"unavailable"}')),
    Trouble("HTTP 504, empty", Answer(504, "", posted=True)),
    Trouble("HTTP 408", Answer(408, '{"error":"timeout","message":"timeout"}', posted=True)),
    Trouble("truncated", TruncatedAnswer(), spoils_body=True),
    Trouble("oversized", OversizedAnswer(MAX_BODY_BYTES + 1), spoils_body=True),
    Trouble("redirect", redirect("/elsewhere")),
    Trouble("a page of HTML", html(0, posted=True), spoils_body=True),
    Trouble("an empty body", Answer(0, "", posted=True), spoils_body=True),
    Trouble("half of some JSON", Answer(0, '{"id":"1', posted=True), spoils_body=True),
    Trouble("brackets without end", Answer(0, "[" * 30_000, posted=True), spoils_body=True),
    Trouble("JSON null", Answer(0, "null", posted=True), spoils_body=True),
    Trouble("an empty JSON list", Answer(0, "[]", posted=True), spoils_body=True, may_be_read=True),
    Trouble("an empty JSON object", Answer(0, "{}", posted=True), spoils_body=True, may_be_read=True),
)
"""After each of these nobody knows whether a write was carried out."""

REFUSALS: Final = tuple(
    Trouble(f"HTTP {status}", Answer(status, '{"error":"no","message":"no"}'))
    for status in (400, 401, 403, 404, 409, 410, 415, 422, 429)
)
"""A provider that says no, in words the Connector need not know."""
