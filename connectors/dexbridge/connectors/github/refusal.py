"""Reads what GitHub says when it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from dexbridge.connectors.http.pool import HttpAnswer

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")


@dataclass(frozen=True)
class Refusal:
    """A no of GitHub's own.

    Args:
        status: of HTTP.
        said: GitHub's own sentences: the message, and those of its errors. They may echo anything.
        faults: field and code of each error of a 422.
        needs_sso: the token has to be authorised for the organisation's single sign-on.
    """

    status: int
    said: str
    faults: tuple[str, ...] = ()
    needs_sso: bool = False


def refusal_of(answer: HttpAnswer, payload: Any) -> Refusal | None:
    """The refusal in an answer's JSON value; None when it has not the form of GitHub's own."""
    message = _text(payload, "message")
    if not message:
        return None
    errors = _errors(payload)
    told = (error if isinstance(error, str) else _text(error, "message") for error in errors)
    said = ". ".join(text.rstrip(".") for text in (message, *told) if text)
    return Refusal(answer.status, said, _faults(errors), "x-github-sso" in answer.headers)


def _text(payload: Any, name: str) -> str:
    value: object = cast(Mapping[str, Any], payload).get(name) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


def _errors(payload: Any) -> tuple[object, ...]:
    listed: object = cast(Mapping[str, Any], payload).get("errors")
    return tuple(cast(Sequence[object], listed)[:5]) if isinstance(listed, list) else ()


def _faults(errors: tuple[object, ...]) -> tuple[str, ...]:
    words: list[str] = []
    for fault in errors:
        pair = [word for word in (_text(fault, "field"), _text(fault, "code")) if _WORD.fullmatch(word)]
        if pair:
            words.append(" ".join(pair))
    return tuple(words)
