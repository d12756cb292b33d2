"""Faults a local Slack can be told to have, one request each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeAlias


@dataclass(frozen=True)
class DropBeforeRead:
    """Closes the connection before reading the request's body; nothing is posted."""


@dataclass(frozen=True)
class DropAfterPost:
    """Reads the request, carries it out, and closes the connection without an answer."""


@dataclass(frozen=True)
class DropWithoutPost:
    """Reads the request and closes the connection; nothing is posted."""


@dataclass(frozen=True)
class AnswerLate:
    """Carries the request out and answers after `seconds`."""

    seconds: float


@dataclass(frozen=True)
class PostLate:
    """Waits `seconds` and only then carries the request out, whether or not the client still waits."""

    seconds: float


@dataclass(frozen=True)
class ErrorCode:
    """HTTP 200 with `ok: false` and this code; `posted` says whether it was carried out nevertheless."""

    code: str
    posted: bool = False


@dataclass(frozen=True)
class Answer:
    """Any status, headers and body; `posted` says whether the request was carried out nevertheless."""

    status: int = 200
    body: str = ""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    posted: bool = False


@dataclass(frozen=True)
class TruncatedAnswer:
    """Carries the request out, and closes the connection in the middle of the answer."""

    posted: bool = True


@dataclass(frozen=True)
class OversizedAnswer:
    """Carries the request out, and answers with more than `size` bytes of valid JSON."""

    size: int
    posted: bool = True


@dataclass(frozen=True)
class WithoutTimestamp:
    """Carries the request out, and answers `ok: true` without `ts`."""

    posted: bool = True


Fault: TypeAlias = (
    DropBeforeRead
    | DropAfterPost
    | DropWithoutPost
    | AnswerLate
    | PostLate
    | ErrorCode
    | Answer
    | TruncatedAnswer
    | OversizedAnswer
    | WithoutTimestamp
)

_KINDS: Final = (
    DropBeforeRead,
    DropAfterPost,
    DropWithoutPost,
    AnswerLate,
    PostLate,
    ErrorCode,
    Answer,
    TruncatedAnswer,
    OversizedAnswer,
    WithoutTimestamp,
)


def rate_limited(retry_after: str | None = None) -> Answer:
    """HTTP 429, with that Retry-After."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Answer(429, '{"ok":false,"error":"ratelimited"}', headers=headers)


def html(status: int = 200, *, posted: bool = False) -> Answer:
    """A page of HTML, as a gateway sends it."""
    return Answer(status, "<html><body>Something went wrong</body></html>", "text/html", posted=posted)


def redirect(location: str, *, posted: bool = False) -> Answer:
    """HTTP 307 to another place."""
    return Answer(307, "", headers={"Location": location}, posted=posted)


def fault_to_json(fault: Fault) -> dict[str, Any]:
    """The fault as the admin route takes it."""
    return {"kind": type(fault).__name__, **asdict(fault)}


def fault_from_json(value: Mapping[str, Any]) -> Fault:
    """The fault an admin request names.

    Raises:
        ValueError: no such fault, or it does not take these fields.
    """
    fields = {str(key): item for key, item in value.items() if key != "kind"}
    for kind in _KINDS:
        if kind.__name__ == value.get("kind"):
            try:
                return kind(**fields)
            except TypeError as error:
                raise ValueError(f"{kind.__name__} does not take these fields: {sorted(fields)}") from error
    raise ValueError(f"kind must be one of {', '.join(kind.__name__ for kind in _KINDS)}")
