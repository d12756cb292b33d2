"""Faults a local server can be told to have, one request each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final


@dataclass(frozen=True)
class Answered:
    """What a local server answers: a status, a JSON payload (None for no body) and headers.

    `text` is sent instead of the payload when it is set; `padding` bytes of blanks follow it. `charset` is how it is
    written, whatever the headers say.
    """

    status: int = 200
    payload: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    text: str | None = None
    content_type: str = "application/json"
    padding: int = 0
    charset: str = "utf-8"


class Fault:
    """Base of every fault."""


@dataclass(frozen=True)
class DropBeforeRead(Fault):
    """Closes the connection before reading the request's body; nothing is carried out."""


@dataclass(frozen=True)
class DropAfterPost(Fault):
    """Reads the request, carries it out, and closes the connection without an answer."""


@dataclass(frozen=True)
class DropWithoutPost(Fault):
    """Reads the request and closes the connection; nothing is carried out."""


@dataclass(frozen=True)
class AnswerLate(Fault):
    """Carries the request out and answers after `seconds`."""

    seconds: float


@dataclass(frozen=True)
class PostLate(Fault):
    """Waits `seconds` and only then carries the request out, whether or not the client still waits."""

    seconds: float


@dataclass(frozen=True)
class TruncatedAnswer(Fault):
    """Closes the connection in the middle of the answer; `posted` says whether the request was carried out."""

    posted: bool = True


class SpoiltAnswer(Fault, ABC):
    """A fault that only changes the answer. Derive a frozen dataclass to add a provider's own.

    `posted` says whether the request was carried out nevertheless.
    """

    posted: bool

    @abstractmethod
    def spoil(self, answered: Answered) -> Answered:
        """What is sent instead of the right answer."""
        raise NotImplementedError


@dataclass(frozen=True)
class Answer(SpoiltAnswer):
    """Any status, headers and body."""

    status: int = 200
    body: str = ""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    posted: bool = False
    charset: str = "utf-8"

    def spoil(self, answered: Answered) -> Answered:
        del answered
        return Answered(self.status, None, self.headers, self.body, self.content_type, charset=self.charset)


@dataclass(frozen=True)
class OversizedAnswer(SpoiltAnswer):
    """The right answer, followed by `size` bytes of blanks; it is valid JSON."""

    size: int
    posted: bool = True

    def spoil(self, answered: Answered) -> Answered:
        return replace(answered, padding=self.size)


def html(status: int = 200, *, posted: bool = False) -> Answer:
    """A page of HTML, as a gateway sends it."""
    return Answer(status, "<html><body>Something went wrong</body></html>", "text/html", posted=posted)


def redirect(location: str, *, posted: bool = False) -> Answer:
    """HTTP 307 to another place."""
    return Answer(307, "", headers={"Location": location}, posted=posted)


FAULT_KINDS: Final[tuple[type[Fault], ...]] = (
    DropBeforeRead,
    DropAfterPost,
    DropWithoutPost,
    AnswerLate,
    PostLate,
    Answer,
    TruncatedAnswer,
    OversizedAnswer,
)


def fault_to_json(fault: Any) -> dict[str, Any]:
    """The fault as the admin route takes it."""
    return {"kind": type(fault).__name__, **asdict(fault)}


def fault_from_json(value: Mapping[str, Any], kinds: Iterable[type[Fault]] = FAULT_KINDS) -> Fault:
    """The fault an admin request names.

    Raises:
        ValueError: no such fault, or it does not take these fields.
    """
    known = tuple(kinds)
    fields = {str(key): item for key, item in value.items() if key != "kind"}
    for kind in known:
        if kind.__name__ == value.get("kind"):
            try:
                return kind(**fields)
            except TypeError as error:
                raise ValueError(f"{kind.__name__} does not take these fields: {sorted(fields)}") from error
    raise ValueError(f"kind must be one of {', '.join(kind.__name__ for kind in known)}")
