"""What an answer proves, read from its status, headers and body: the rows every provider shares, and one's own.

    def _refused(answer: HttpAnswer, payload: Any) -> Finding | None:
        if answer.status == 422 and isinstance(payload, dict) and "error" in payload:
            return Finding(Proof.NOT_DONE_REFUSED, FailureKind.VALIDATION, code=str(payload["error"]))
        return None

    found = judge(answer, provider="Notes", rows=(_refused, _done))

A row that does not know an answer returns None. What no row knows proves nothing, so a forgotten row costs a look-up
and never a second write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias, cast

from dexbridge.connectors.failure import FailureKind
from dexbridge.connectors.http_pool import HttpAnswer
from dexbridge.connectors.json_body import Ambiguous, read_json

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,80}")


class Proof(StrEnum):
    """What an answer proves."""

    DONE = "done"
    NOT_DONE_LIMITED = "not done: rate limit"
    NOT_DONE_REFUSED = "not done: refused"
    UNAVAILABLE = "nothing: the provider had an inner fault"
    UNREADABLE = "nothing: not an answer of the provider's"


@dataclass(frozen=True)
class Finding:
    """What a row says of an answer.

    Args:
        proof: see Proof.
        kind: the failure kind of an answer that is not DONE.
        reason: a sentence on an answer that is not DONE; no body, no header.
        code: the provider's error code, checked against a plain pattern by the row.
        delay: the wait the provider asked for.
    """

    proof: Proof
    kind: FailureKind = FailureKind.PROTOCOL
    reason: str = ""
    code: str = ""
    delay: timedelta | None = None


@dataclass(frozen=True)
class JudgedAnswer(Finding):
    """One answer: what it proves, and what is known besides.

    Args:
        payload: the JSON value of the body; None when there is none that is read in one way.
        request_id: the provider's own ID of the request.
        clock: the provider's own time, from the Date header.
    """

    payload: Any = None
    request_id: str | None = None
    clock: datetime | None = None

    @property
    def fields(self) -> Mapping[str, Any]:
        """The payload's members when it is a JSON object, else none."""
        payload: object = self.payload
        return cast(Mapping[str, Any], payload) if isinstance(payload, dict) else {}


Row: TypeAlias = Callable[[HttpAnswer, Any], Finding | None]
"""Takes the answer and its JSON value, which is None for anything else; the first row that knows it decides."""


def judge(
    answer: HttpAnswer, *, provider: str, rows: Sequence[Row], request_id_header: str = "x-request-id"
) -> JudgedAnswer:
    """What an answer proves: by the shared rows, then by the provider's own."""
    payload: Any = None
    finding = _shared(answer, provider)
    if finding is None:
        try:
            payload = read_json(answer.body)
        except Ambiguous:
            finding = Finding(Proof.UNREADABLE, reason=f"{provider}'s answer can be read in two ways.")
        except ValueError:
            payload = None
    if finding is None:
        told = (row(answer, payload) for row in rows)
        finding = next((one for one in told if one is not None), None)
    if finding is None:
        finding = Finding(Proof.UNREADABLE, reason=_what_came(answer, provider, payload))
    request_id = answer.headers.get(request_id_header, "")
    return JudgedAnswer(
        **vars(finding),
        payload=payload,
        request_id=request_id if _REQUEST_ID.fullmatch(request_id) else None,
        clock=_date(answer.headers.get("date")),
    )


def _shared(answer: HttpAnswer, provider: str) -> Finding | None:
    status = f"{provider} answered HTTP {answer.status}"
    unreadable = Finding(Proof.UNREADABLE)
    if answer.status >= 500 or answer.status == 408:
        return Finding(Proof.UNAVAILABLE, FailureKind.AVAILABILITY, f"{status}.")
    if 300 <= answer.status < 400:
        return replace(unreadable, reason=f"{status}, a redirect, which is never followed.")
    if answer.body_fault == "too large":
        reason = f"{provider}'s answer was larger than maxResponseBytes allows."
        return replace(unreadable, kind=FailureKind.RESPONSE_TOO_LARGE, reason=reason)
    if answer.body_fault:
        return replace(unreadable, reason=f"{provider}'s answer was cut off.")
    return None


def _what_came(answer: HttpAnswer, provider: str, payload: Any) -> str:
    if not answer.body.strip():
        return f"{provider} answered HTTP {answer.status} with an empty body."
    if payload is None:
        return f"{provider} answered HTTP {answer.status} with something that is not JSON."
    return f"{provider}'s answer says neither yes nor no."


def _date(value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.utcoffset() is not None else None
