"""What an answer of GitHub's REST API proves, read from its status, headers and body.

Sources: GitHub's pages "Rate limits for the REST API", "Best practices for using the REST API" and "Troubleshooting
the REST API". Only a JSON object with a `message` is a refusal of GitHub's own; a page of a gateway proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Final, cast

from dexbridge.connectors.failure import FailureKind
from dexbridge.connectors.http_pool import HttpAnswer
from dexbridge.connectors.json_body import read_json
from dexbridge.connectors.retry_after import LONGEST_DELAY, parse_retry_after

_SECONDARY_WAIT: Final = timedelta(minutes=1)
"""After a secondary limit without a header, "wait for at least one minute"."""

_REFUSALS: Final = frozenset(
    {301, 302, 307, 308, 400, 401, 403, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 422, 428, 429, 431, 451}
)
_CREATED: Final = frozenset({"id", "node_id", "html_url", "created_at"})
"""What an object of GitHub's has at its top level, and no refusal of GitHub's."""

_LIMITS: Final = ("rate limit", "abuse detection", "submitted too quickly")
_NOT_READY: Final = "could not resolve to a node"

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9:._-]{1,80}")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")


class Proof(StrEnum):
    """What an answer proves."""

    DONE = "done"
    NOT_DONE_YET = "not done: a limit, or too early; the same call may be made again later"
    NOT_DONE_REFUSED = "not done: refused by GitHub"
    UNAVAILABLE = "nothing: GitHub had an inner fault"
    UNREADABLE = "nothing: not an answer of GitHub's REST API"


@dataclass(frozen=True)
class GitHubAnswer:
    """One answer: what it proves, and what is known besides.

    Args:
        proof: see Proof.
        status: of HTTP.
        payload: the JSON value; None unless it is one.
        kind: the failure kind of an answer that proves nothing, or of a rate limit.
        reason: a sentence on an answer that is not DONE.
        delay: the wait GitHub asked for.
        faults: field and code of each error of a 422.
        has_next: the Link header names a next page.
        needs_sso: the token has to be authorised for the organisation's single sign-on.
        request_id: the `X-GitHub-Request-Id` header.
        clock: GitHub's own time, from the Date header.
    """

    proof: Proof
    status: int
    payload: Any = None
    kind: FailureKind = FailureKind.PROTOCOL
    reason: str = ""
    delay: timedelta | None = None
    faults: tuple[str, ...] = ()
    has_next: bool = False
    needs_sso: bool = False
    request_id: str | None = None
    clock: datetime | None = None

    @property
    def said(self) -> str:
        """GitHub's own sentences: the message, and those of its errors. They may echo anything."""
        return _said(self.payload)


def read_answer(answer: HttpAnswer, *, done: int) -> GitHubAnswer:
    """Classifies one answer; `done` is the status that means success."""
    headers = answer.headers
    request_id = headers.get("x-github-request-id", "")
    clock = _date(headers.get("date"))
    payload = None if answer.body_fault else _json(answer.body)

    def found(proof: Proof, kind: FailureKind, reason: str, **more: Any) -> GitHubAnswer:
        return GitHubAnswer(
            proof,
            answer.status,
            payload,
            kind,
            reason,
            request_id=request_id if _REQUEST_ID.fullmatch(request_id) else None,
            clock=clock,
            **more,
        )

    if answer.status >= 500 or answer.status == 408:
        reason = f"GitHub answered HTTP {answer.status}."
        return found(Proof.UNAVAILABLE, FailureKind.AVAILABILITY, reason)
    if answer.body_fault == "too large":
        reason = "GitHub's answer was larger than maxResponseBytes allows."
        return found(Proof.UNREADABLE, FailureKind.RESPONSE_TOO_LARGE, reason)
    if answer.status == done:
        if isinstance(payload, dict | list):
            has_next = 'rel="next"' in headers.get("link", "")
            return found(Proof.DONE, FailureKind.PROTOCOL, "", has_next=has_next)
        return found(Proof.UNREADABLE, FailureKind.PROTOCOL, _what_came(answer))
    if answer.status not in _REFUSALS or not _text(payload, "message"):
        return found(Proof.UNREADABLE, FailureKind.PROTOCOL, _what_came(answer))
    if _CREATED & cast(Mapping[str, Any], payload).keys():
        reason = f"GitHub answered HTTP {answer.status}, a refusal, but its body shows something created."
        return found(Proof.UNREADABLE, FailureKind.PROTOCOL, reason)
    said = _said(payload).lower()
    if _is_limit(answer.status, headers, said):
        reason = "GitHub's rate limit was reached."
        delay = _delay(headers, clock)
        return found(Proof.NOT_DONE_YET, FailureKind.RATE_LIMIT, reason, delay=delay)
    if answer.status == 422 and _NOT_READY in said:
        reason = "GitHub does not know the issue everywhere yet, as happens soon after it was made."
        return found(Proof.NOT_DONE_YET, FailureKind.AVAILABILITY, reason)
    return found(
        Proof.NOT_DONE_REFUSED,
        FailureKind.PROVIDER_REJECTION,
        f"GitHub answered HTTP {answer.status}.",
        faults=_faults(payload),
        needs_sso="x-github-sso" in headers,
    )


def _is_limit(status: int, headers: Mapping[str, str], said: str) -> bool:
    if status == 429:
        return True
    if status == 403 and (headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers):
        return True
    return status in {403, 422} and any(words in said for words in _LIMITS)


def _delay(headers: Mapping[str, str], clock: datetime | None) -> timedelta | None:
    wait = parse_retry_after(headers.get("retry-after"), now=None)
    if wait is not None:
        return wait
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") == "0":
        if not re.fullmatch(r"[0-9]{1,11}", reset):
            return None
        # Compared with GitHub's own clock where it is known; one second more, as both are whole seconds.
        wait = datetime.fromtimestamp(int(reset), UTC) - (clock or datetime.now(UTC)) + timedelta(seconds=1)
        return min(wait, LONGEST_DELAY) if wait > timedelta(0) else None
    return _SECONDARY_WAIT


def _what_came(answer: HttpAnswer) -> str:
    if answer.body_fault:
        return "GitHub's answer was cut off."
    if 300 <= answer.status < 400:
        return f"GitHub's address answered HTTP {answer.status}, a redirect, which is never followed."
    if not answer.body.strip():
        return f"GitHub's address answered HTTP {answer.status} with an empty body."
    return f"GitHub's address answered HTTP {answer.status} with something that is not GitHub's."


def _json(body: bytes) -> Any:
    """The JSON value; None when it is none, or can be read in two ways."""
    try:
        return read_json(body)
    except ValueError:
        return None


def _text(payload: Any, name: str) -> str:
    value: object = cast(Mapping[str, Any], payload).get(name) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


def _errors(payload: Any) -> tuple[object, ...]:
    listed: object = cast(Mapping[str, Any], payload).get("errors") if isinstance(payload, dict) else None
    return tuple(cast(Sequence[object], listed)[:5]) if isinstance(listed, list) else ()


def _said(payload: Any) -> str:
    told = (error if isinstance(error, str) else _text(error, "message") for error in _errors(payload))
    return ". ".join(text.rstrip(".") for text in (_text(payload, "message"), *told) if text)


def _faults(payload: Any) -> tuple[str, ...]:
    words: list[str] = []
    for fault in _errors(payload):
        pair = [word for word in (_text(fault, "field"), _text(fault, "code")) if _WORD.fullmatch(word)]
        if pair:
            words.append(" ".join(pair))
    return tuple(words)


def _date(value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.utcoffset() is not None else None
