"""What an answer proves, read from its status, headers and body: the rows every provider shares, and one's own.

    def _refused(answer: HttpAnswer, payload: Any) -> Finding | None:
        if answer.status == 422 and isinstance(payload, dict) and "error" in payload:
            return Finding(Proof.NOT_DONE_REFUSED, FailureKind.VALIDATION, "write 1 to 1000 characters.")
        return None

    found = judge(answer, provider="Notes", rows=(_refused, _done))

A row that does not know an answer returns None. What no row knows proves nothing, so a forgotten row costs a look-up
and never a second write. What becomes of the call is in answer_branches.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, TypeAlias, TypeVar, cast

from pydantic import BaseModel

from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.http.json_body import Ambiguous, read_json
from dexbridge.connectors.http.pool import HttpAnswer

Payload = TypeVar("Payload", bound=BaseModel)

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,80}")


class Proof(StrEnum):
    """What an answer proves."""

    DONE = "done"
    NOT_DONE_YET = "not done: a limit, or too early; the same call may be made again later"
    NOT_DONE_REFUSED = "not done: refused"
    UNAVAILABLE = "nothing: the provider had an inner fault"
    UNREADABLE = "nothing: not an answer of the provider's"


@dataclass(frozen=True)
class Finding:
    """What a row says of an answer.

    Args:
        proof: see Proof.
        kind: the failure kind of an answer that is not DONE.
        reason: a sentence on an answer that is not DONE, for a refusal with what would help; no body, no header.
        code: the provider's error code, checked against a plain pattern by the row.
        delay: the wait the provider asked for.
    """

    proof: Proof
    kind: FailureKind = FailureKind.PROTOCOL
    reason: str = ""
    code: str = ""
    delay: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class JudgedAnswer(Finding):
    """One answer: what it proves, and what is known besides.

    Args:
        answer: as it came.
        payload: the JSON value of the body; None when there is none that is read in one way.
        request_id: the provider's own ID of the request.
    """

    answer: HttpAnswer = field(repr=False)
    payload: Any = field(default=None, repr=False)
    request_id: str | None = None

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.answer.status

    @property
    def clock(self) -> datetime | None:
        """The provider's own time, from the Date header."""
        return self.answer.clock

    @property
    def fields(self) -> Mapping[str, Any]:
        """The payload's members when it is a JSON object, else none."""
        payload: object = self.payload
        return cast(Mapping[str, Any], payload) if isinstance(payload, dict) else {}

    def read(self, model: type[Payload]) -> Payload | None:
        """The body as a model; see `HttpAnswer.read`."""
        return self.answer.read(model)

    def listed(self, header: str) -> tuple[str, ...] | None:
        """The parts of a header with commas between, such as the scopes of a token; None when it did not come."""
        value = self.answer.headers.get(header)
        return None if value is None else tuple(part.strip() for part in value.split(",") if part.strip())


Row: TypeAlias = Callable[[HttpAnswer, Any], Finding | None]
"""Takes the answer and its JSON value, which is None for anything else; the first row that knows it decides."""


def judge(
    answer: HttpAnswer,
    *,
    provider: str,
    rows: Sequence[Row],
    request_id_header: str = "x-request-id",
    redirects_are_told: bool = False,
) -> JudgedAnswer:
    """What an answer proves: by the shared rows, then by the provider's own.

    Args:
        answer: as it came.
        provider: its name, for the sentences.
        rows: the provider's own, in their order.
        request_id_header: in lower case.
        redirects_are_told: the provider's own rows are asked about redirects too, because it explains them in its
            body; otherwise a redirect proves nothing, whatever it holds.
    """
    payload: Any = None
    finding = _shared(answer, provider)
    if finding is None:
        try:
            payload = read_json(answer.body)
        except Ambiguous:
            finding = Finding(Proof.UNREADABLE, reason=f"{provider}'s answer can be read in two ways.")
        except ValueError:
            payload = None
    is_redirect = 300 <= answer.status < 400
    if finding is None and (redirects_are_told or not is_redirect):
        told = (row(answer, payload) for row in rows)
        finding = next((one for one in told if one is not None), None)
    if finding is None and is_redirect:
        reason = f"{provider} answered HTTP {answer.status}, a redirect, which is never followed."
        finding = Finding(Proof.UNREADABLE, reason=reason)
    if finding is None:
        finding = Finding(Proof.UNREADABLE, reason=_what_came(answer, provider, payload))
    request_id = answer.headers.get(request_id_header, "")
    return JudgedAnswer(
        **vars(finding),
        answer=answer,
        payload=payload,
        request_id=request_id if _REQUEST_ID.fullmatch(request_id) else None,
    )


def _shared(answer: HttpAnswer, provider: str) -> Finding | None:
    if answer.status >= 500 or answer.status == 408:
        reason = f"{provider} answered HTTP {answer.status}."
        return Finding(Proof.UNAVAILABLE, FailureKind.AVAILABILITY, reason, delay=answer.retry_after)
    if answer.body_fault == "too large":
        reason = f"{provider}'s answer was larger than maxResponseBytes allows."
        return Finding(Proof.UNREADABLE, FailureKind.RESPONSE_TOO_LARGE, reason)
    if answer.body_fault:
        return Finding(Proof.UNREADABLE, reason=f"{provider}'s answer was cut off.")
    return None


def _what_came(answer: HttpAnswer, provider: str, payload: Any) -> str:
    came = "JSON that says neither yes nor no"
    if payload is None:
        came = "something that is not JSON" if answer.body.strip() else "an empty body"
    return f"{provider} answered HTTP {answer.status} with {came}."
