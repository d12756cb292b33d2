"""What an answer of GitHub's REST API proves: GitHub's own rows of the table.

Sources: GitHub's pages "Rate limits for the REST API", "Best practices for using the REST API" and "Troubleshooting
the REST API". Only a JSON object with a `message` is a refusal of GitHub's own; a page of a gateway proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, cast

from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.github.advice import advice_for
from dexbridge.connectors.github.refusal import refusal_of
from dexbridge.connectors.http.answer_table import Finding, JudgedAnswer, Proof, judge
from dexbridge.connectors.http.pool import HttpAnswer
from dexbridge.connectors.http.retry_after import LONGEST_DELAY

_SECONDARY_WAIT: Final = timedelta(minutes=1)
"""After a secondary limit without a header, "wait for at least one minute"."""

_REFUSALS: Final = frozenset(
    {301, 302, 307, 308, 400, 401, 403, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 422, 428, 429, 431, 451}
)
_CREATED: Final = frozenset({"id", "node_id", "html_url", "created_at"})
"""What an object of GitHub's has at its top level, and no refusal of GitHub's."""

_LIMITS: Final = ("rate limit", "abuse detection", "submitted too quickly")
_NOT_READY: Final = "could not resolve to a node"


def read_answer(answer: HttpAnswer, *, done: int) -> JudgedAnswer:
    """Classifies one answer; `done` is the status that means success."""
    return judge(
        answer,
        provider="GitHub",
        rows=(partial(_done, done), _no),
        request_id_header="x-github-request-id",
        redirects_are_told=True,
    )


def has_next_page(answer: JudgedAnswer) -> bool:
    """Whether the Link header names a next page."""
    return 'rel="next"' in answer.answer.headers.get("link", "")


def _done(status: int, answer: HttpAnswer, payload: Any) -> Finding | None:
    return Finding(Proof.DONE) if answer.status == status and isinstance(payload, dict | list) else None


def _no(answer: HttpAnswer, payload: Any) -> Finding | None:
    refusal = refusal_of(answer, payload) if answer.status in _REFUSALS else None
    if refusal is None:
        return None
    if _CREATED & cast(Mapping[str, Any], payload).keys():
        reason = f"GitHub answered HTTP {answer.status}, a refusal, but its body shows something created."
        return Finding(Proof.UNREADABLE, reason=reason)
    said = refusal.said.lower()
    if _is_limit(answer, said):
        reason = "GitHub's rate limit was reached."
        return Finding(Proof.NOT_DONE_YET, FailureKind.RATE_LIMIT, reason, delay=_delay(answer))
    if answer.status == 422 and _NOT_READY in said:
        reason = "GitHub does not know the issue everywhere yet, as happens soon after it was made."
        return Finding(Proof.NOT_DONE_YET, FailureKind.AVAILABILITY, reason)
    kind, advice = advice_for(refusal)
    return Finding(Proof.NOT_DONE_REFUSED, kind, advice)


def _is_limit(answer: HttpAnswer, said: str) -> bool:
    if answer.status == 429:
        return True
    headers = answer.headers
    if answer.status == 403 and (headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers):
        return True
    return answer.status in {403, 422} and any(words in said for words in _LIMITS)


def _delay(answer: HttpAnswer) -> timedelta | None:
    if answer.retry_after is not None:
        return answer.retry_after
    reset = answer.headers.get("x-ratelimit-reset", "")
    if answer.headers.get("x-ratelimit-remaining") == "0":
        if not re.fullmatch(r"[0-9]{1,11}", reset):
            return None
        # Compared with GitHub's own clock where it is known; one second more, as both are whole seconds.
        wait = datetime.fromtimestamp(int(reset), UTC) - (answer.clock or datetime.now(UTC)) + timedelta(seconds=1)
        return min(wait, LONGEST_DELAY) if wait > timedelta(0) else None
    return _SECONDARY_WAIT
