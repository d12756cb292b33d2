"""Failure: what went wrong, in words that may be shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FailureKind(StrEnum):
    """What kind of fact a failure is. A kind is never a decision to retry."""

    VALIDATION = "VALIDATION"
    AUTHENTICATION = "AUTHENTICATION"
    AUTHORIZATION = "AUTHORIZATION"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    RATE_LIMIT = "RATE_LIMIT"
    QUOTA_EXHAUSTED = "QUOTA_EXHAUSTED"
    AVAILABILITY = "AVAILABILITY"
    PROVIDER_REJECTION = "PROVIDER_REJECTION"
    TRANSPORT = "TRANSPORT"
    RESPONSE_TOO_LARGE = "RESPONSE_TOO_LARGE"
    PROTOCOL = "PROTOCOL"
    LOCAL_DEFECT = "LOCAL_DEFECT"


@dataclass(frozen=True)
class Failure:
    """One failure: a kind, where it happened, and plain advice without secrets, bodies or headers."""

    kind: FailureKind
    provider: str
    operation: str
    message: str
