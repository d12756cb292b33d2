"""How a request is refused: a status, a word for programs, every fault in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import JSONResponse

from dexbridge.console.web.bodies import ErrorAnswer, Fault

__all__ = ["Refused", "refusal", "status_refusal"]

_WORDS: Mapping[int, str] = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    413: "too_large",
    414: "too_long",
    415: "unsupported_media_type",
    421: "unknown_host",
    429: "too_many_requests",
    431: "too_many_headers",
    500: "internal",
    503: "unavailable",
}
_MOST_FAULTS: Final = 20


class Refused(Exception):
    """A request that is answered with an error.

    Args:
        status: HTTP status.
        faults: Place and sentence of each fault; none where saying more would help a forger. The first 20 are told,
            and how many more there are.
        headers: Further headers of the answer.
    """

    def __init__(
        self, status: int, faults: Sequence[tuple[str, str]] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        self.status = status
        more = len(faults) - _MOST_FAULTS
        told = [*faults[:_MOST_FAULTS], ("body", f"and {more:,} more")] if more > 0 else faults
        self.faults = tuple(told)
        self.headers = headers
        super().__init__(f"{status}: {'; '.join(message for _, message in self.faults)}")


def refusal(refused: Refused) -> JSONResponse:
    """The answer of a refused request."""
    body = ErrorAnswer(
        error=_WORDS.get(refused.status, "error"),
        faults=[Fault(at=at, message=message) for at, message in refused.faults],
    )
    return JSONResponse(body.model_dump(), refused.status, headers=refused.headers)


def status_refusal(status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer that says no more than its status."""
    return refusal(Refused(status, headers=headers))
