"""What an answer of Slack's Web API proves, read from its status, headers and body.

Source: Slack's pages "Using the Web API" and "Rate limits". `ok` alone is not enough: gateways answer in Slack's place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Final, cast

from dexbridge.connectors.failure import FailureKind
from dexbridge.connectors.http_pool import HttpAnswer
from dexbridge.connectors.json_body import Ambiguous, read_json
from dexbridge.connectors.retry_after import parse_retry_after

_UNCLEAR_CODES: Final = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
_LIMIT_CODES: Final = frozenset({"ratelimited", "rate_limited"})
_SAYS_OK: Final = re.compile(rb'"ok"\s*:\s*true\b')
_CODE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,80}")


class Proof(StrEnum):
    """What an answer proves."""

    DONE = "done"
    NOT_DONE_LIMITED = "not done: rate limit"
    NOT_DONE_REJECTED = "not done: conclusive code"
    UNAVAILABLE = "nothing: Slack had an inner fault"
    UNREADABLE = "nothing: not an answer of Slack's Web API"


def _nothing() -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class SlackAnswer:
    """One answer: what it proves, and what is known besides.

    Args:
        proof: see Proof.
        payload: the JSON object of a DONE answer.
        code: Slack's error code; it matches a plain pattern, so it can be shown.
        kind: the failure kind of an answer that is not DONE (a rejection's kind comes with its advice).
        reason: a sentence on an answer that proves nothing.
        delay: the wait Slack asked for.
        request_id: the `X-Slack-Req-Id` header.
        clock: Slack's own time, from the Date header.
    """

    proof: Proof
    payload: Mapping[str, Any] = field(default_factory=_nothing)
    code: str = ""
    kind: FailureKind = FailureKind.PROTOCOL
    reason: str = ""
    delay: timedelta | None = None
    request_id: str | None = None
    clock: datetime | None = None


def read_answer(answer: HttpAnswer) -> SlackAnswer:
    """Classifies one answer."""
    request_id = _plain(answer.headers.get("x-slack-req-id"))
    clock = _date(answer.headers.get("date"))
    delay = parse_retry_after(answer.headers.get("retry-after"), now=None)

    def limited(code: str) -> SlackAnswer:
        return SlackAnswer(
            Proof.NOT_DONE_LIMITED,
            code=code,
            kind=FailureKind.RATE_LIMIT,
            reason="Slack's rate limit was reached, nothing was done.",
            delay=delay,
            request_id=request_id,
            clock=clock,
        )

    def unclear(proof: Proof, kind: FailureKind, reason: str) -> SlackAnswer:
        return SlackAnswer(proof, kind=kind, reason=reason, request_id=request_id, clock=clock)

    payload, is_ambiguous = (None, False) if answer.body_fault else _json_object(answer.body)
    if answer.status == 429:
        # A limit lets the message be sent again, so the body must not say that it was posted.
        if answer.body_fault or is_ambiguous or _claims_success(answer.body, payload):
            reason = "Slack answered HTTP 429, but its body does not say that nothing was done."
            return unclear(Proof.UNREADABLE, FailureKind.PROTOCOL, reason)
        return limited("ratelimited")
    if answer.status >= 500:
        reason = f"Slack answered HTTP {answer.status}."
        return unclear(Proof.UNAVAILABLE, FailureKind.AVAILABILITY, reason)
    if 300 <= answer.status < 400:
        reason = f"Slack answered HTTP {answer.status}, a redirect, which is never followed."
        return unclear(Proof.UNREADABLE, FailureKind.PROTOCOL, reason)
    if answer.body_fault == "too large":
        reason = "Slack's answer was larger than maxResponseBytes allows."
        return unclear(Proof.UNREADABLE, FailureKind.RESPONSE_TOO_LARGE, reason)

    if is_ambiguous:
        return unclear(Proof.UNREADABLE, FailureKind.PROTOCOL, "Slack's answer can be read in two ways.")
    if payload is None:
        return unclear(Proof.UNREADABLE, FailureKind.PROTOCOL, _what_came(answer))
    code = payload.get("error")
    if payload.get("ok") is True and answer.status == 200:
        return SlackAnswer(Proof.DONE, payload, request_id=request_id, clock=clock)
    if payload.get("ok") is not False or not isinstance(code, str) or not _CODE.fullmatch(code):
        return unclear(Proof.UNREADABLE, FailureKind.PROTOCOL, "Slack's answer says neither yes nor no.")
    if _claims_success(answer.body, payload):
        return unclear(Proof.UNREADABLE, FailureKind.PROTOCOL, "Slack's answer says both yes and no.")
    if code in _LIMIT_CODES:
        return limited(code)
    if code in _UNCLEAR_CODES:
        return unclear(Proof.UNAVAILABLE, FailureKind.AVAILABILITY, f"Slack answered {code}.")
    return SlackAnswer(
        Proof.NOT_DONE_REJECTED, payload, code, FailureKind.PROVIDER_REJECTION, request_id=request_id, clock=clock
    )


def _claims_success(body: bytes, payload: Mapping[str, Any] | None) -> bool:
    """Whether an answer that refuses also says that the request was carried out, or names a posted message."""
    if _SAYS_OK.search(body):  # also in half a body, in a list, or in the first of two equal keys
        return True
    return payload is not None and (payload.get("ok", False) is not False or "ts" in payload)


def _what_came(answer: HttpAnswer) -> str:
    if answer.body_fault:
        return "Slack's answer was cut off."
    if not answer.body.strip():
        return f"Slack answered HTTP {answer.status} with an empty body."
    return f"Slack answered HTTP {answer.status} with something that is not JSON."


def _json_object(body: bytes) -> tuple[Mapping[str, Any] | None, bool]:
    """The object in a body, and whether the body can be read in two ways."""
    try:
        value = read_json(body)
    except Ambiguous:
        return None, True
    except ValueError:
        return None, False
    return (cast(Mapping[str, Any], value) if isinstance(value, dict) else None), False


def _plain(value: str | None) -> str | None:
    return value if value is not None and _CODE.fullmatch(value) else None


def _date(value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.utcoffset() is not None else None
