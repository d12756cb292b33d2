"""What an answer of Slack's Web API proves: Slack's own rows of the table.

Source: Slack's pages "Using the Web API" and "Rate limits". `ok` alone is not enough: gateways answer in Slack's place.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.http.answer_table import Finding, JudgedAnswer, Proof, judge
from dexbridge.connectors.http.pool import HttpAnswer
from dexbridge.connectors.slack.advice import advice_for

_UNCLEAR_CODES: Final = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
_LIMIT_CODES: Final = frozenset({"ratelimited", "rate_limited"})
_SAYS_OK: Final = re.compile(rb'"ok"\s*:\s*true\b')
_CODE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,80}")


def read_answer(answer: HttpAnswer) -> JudgedAnswer:
    """Classifies one answer."""
    return judge(answer, provider="Slack", rows=(_too_many, _done, _both, _code), request_id_header="x-slack-req-id")


def _too_many(answer: HttpAnswer, payload: Any) -> Finding | None:
    if answer.status != 429:
        return None
    # A limit lets the message be sent again, so the body must not say that it was posted.
    if _claims_success(answer, payload):
        reason = "Slack answered HTTP 429, but its body does not say that nothing was done."
        return Finding(Proof.UNREADABLE, reason=reason)
    return _limited(answer, "ratelimited")


def _done(answer: HttpAnswer, payload: Any) -> Finding | None:
    is_done = answer.status == 200 and isinstance(payload, dict) and cast(dict[str, Any], payload).get("ok") is True
    return Finding(Proof.DONE) if is_done else None


def _both(answer: HttpAnswer, payload: Any) -> Finding | None:
    if _code_of(payload) and _claims_success(answer, payload):
        return Finding(Proof.UNREADABLE, reason="Slack's answer says both yes and no.")
    return None


def _code(answer: HttpAnswer, payload: Any) -> Finding | None:
    code = _code_of(payload)
    if not code:
        return None
    if code in _LIMIT_CODES:
        return _limited(answer, code)
    if code in _UNCLEAR_CODES:
        return Finding(Proof.UNAVAILABLE, FailureKind.AVAILABILITY, f"Slack answered {code}.")
    kind, advice = advice_for(code)
    return Finding(Proof.NOT_DONE_REFUSED, kind, advice, code)


def _limited(answer: HttpAnswer, code: str) -> Finding:
    reason = "Slack's rate limit was reached."
    return Finding(Proof.NOT_DONE_YET, FailureKind.RATE_LIMIT, reason, code, answer.retry_after)


def _code_of(payload: Any) -> str:
    """The error code of an answer that says no."""
    fields = cast(dict[str, Any], payload) if isinstance(payload, dict) else {}
    code = fields.get("error")
    is_no = fields.get("ok") is False and isinstance(code, str) and _CODE.fullmatch(code)
    return cast(str, code) if is_no else ""


def _claims_success(answer: HttpAnswer, payload: Any) -> bool:
    """Whether an answer that refuses also says that the request was carried out, or names a posted message."""
    if _SAYS_OK.search(answer.body):  # also in half a body, or in a list
        return True
    fields = cast(dict[str, Any], payload) if isinstance(payload, dict) else {}
    return fields.get("ok", False) is not False or "ts" in fields
