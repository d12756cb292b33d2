"""Faults a local Slack can be told to have: those of every local server, and Slack's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from dexbridge.connectors.testing import faults
from dexbridge.connectors.testing.faults import (
    FAULT_KINDS,
    Answer,
    Answered,
    AnswerLate,
    DropAfterPost,
    DropBeforeRead,
    DropWithoutPost,
    Fault,
    OversizedAnswer,
    PostLate,
    SpoiltAnswer,
    TruncatedAnswer,
    fault_to_json,
    html,
    redirect,
)

__all__ = [
    "SLACK_FAULT_KINDS",
    "Answer",
    "AnswerLate",
    "DropAfterPost",
    "DropBeforeRead",
    "DropWithoutPost",
    "ErrorCode",
    "Fault",
    "OversizedAnswer",
    "PostLate",
    "TruncatedAnswer",
    "WithoutTimestamp",
    "fault_from_json",
    "fault_to_json",
    "html",
    "rate_limited",
    "redirect",
]


@dataclass(frozen=True)
class ErrorCode(SpoiltAnswer):
    """HTTP 200 with `ok: false` and this code; `posted` says whether it was carried out nevertheless."""

    code: str
    posted: bool = False

    def spoil(self, answered: Answered) -> Answered:
        return replace(answered, payload={"ok": False, "error": self.code})


@dataclass(frozen=True)
class WithoutTimestamp(SpoiltAnswer):
    """Carries the request out, and answers `ok: true` without `ts`."""

    posted: bool = True

    def spoil(self, answered: Answered) -> Answered:
        payload = cast(Mapping[str, Any], answered.payload)
        return replace(answered, payload={key: value for key, value in payload.items() if key != "ts"})


SLACK_FAULT_KINDS: Final = (*FAULT_KINDS, ErrorCode, WithoutTimestamp)


def rate_limited(retry_after: str | None = None) -> Answer:
    """HTTP 429, with that Retry-After."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Answer(429, '{"ok":false,"error":"ratelimited"}', headers=headers)


def fault_from_json(value: Mapping[str, Any]) -> Fault:
    """The fault an admin request names.

    Raises:
        ValueError: no such fault, or it does not take these fields.
    """
    return faults.fault_from_json(value, SLACK_FAULT_KINDS)
