"""Reading a request: bounded, and strict about what JSON it is."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from dexbridge.console.web.refusals import Refused

__all__ = ["LARGEST_BODY", "read_body", "read_json", "read_query"]

logger = logging.getLogger(__name__)

LARGEST_BODY: Final = 2 * 1024 * 1024
"""Bytes of a request's body; the longest message of the default limits, written in escapes, fits."""

_BODY_SECONDS: Final = 10.0
_MOST_TEXTS: Final = 50
_MOST_BETWEEN: Final = 4 * 1024

Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, limit: int = LARGEST_BODY, *, seconds: float = _BODY_SECONDS) -> bytes:
    """The whole body.

    Raises:
        Refused: 413, as soon as it is known to be longer than `limit` bytes; 408 when it has not come in `seconds`;
            400, which nobody reads, when the client went away before its end.
    """
    too_large = Refused(413, [("body", f"The body is longer than {limit:,} bytes: shorten it.")])
    length = request.headers.get("content-length", "")
    # Digits alone, and few: int() takes more than HTTP does, and refuses very long numbers with an error of its own.
    if length.isdecimal() and (len(length) > 15 or int(length) > limit):
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > limit:
                    raise too_large
    except TimeoutError:
        late = f"The body had not come within {seconds:g} s: send the request again."
        # Closed, since what is still to come of the body would be read as the next request's beginning.
        raise Refused(408, [("body", late)], {"Connection": "close"}) from None
    except ClientDisconnect:
        logger.info("%s %s: the client went away before the end of its body.", request.method, request.url.path)
        raise Refused(400, [("body", "The body has no end.")]) from None
    return bytes(body)


async def read_json(request: Request, model: type[Model]) -> Model:
    """The body as the model.

    Raises:
        Refused: 415 when it is not declared as JSON, 413 when it is too long, 400 with every fault.
    """
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared != "application/json":
        raise Refused(415, [("content-type", "Send Content-Type: application/json.")])
    body = await read_body(request)
    _check_parts(body)
    try:
        document: object = json.loads(
            body.decode("utf-8"), object_pairs_hook=_without_twins, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, _NotStrict) else "The body is not JSON in UTF-8."
        raise Refused(400, [("body", said)]) from None
    if not isinstance(document, dict):
        raise Refused(400, [("body", "The body must be a JSON object.")])
    return _validated(model, document)


def read_query(request: Request, model: type[Model], more: Mapping[str, str] | None = None) -> Model:
    """The query string as the model; `more` adds members that came in headers.

    Raises:
        Refused: 400 with every fault.
    """
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in given:
            raise Refused(400, [(name[:60], "is given twice")])
        given[name] = value
    return _validated(model, {**given, **(more or {})})


def _check_parts(body: bytes) -> None:
    """Passes when reading the JSON takes little time: its texts may be long, but are few, with little between them.

    Raises:
        Refused: 400.
    """
    # Escapes stand in texts only, and a pair of backslashes comes before the quote it leaves alone.
    unescaped = body.replace(b"\\\\", b"..").replace(b'\\"', b"..")
    texts = unescaped.count(b'"') // 2
    if texts > _MOST_TEXTS:
        raise Refused(400, [("body", f"The body has {texts:,} texts, and no request needs more than {_MOST_TEXTS}.")])
    between = sum(len(part) for part in unescaped.split(b'"')[::2])
    if between > _MOST_BETWEEN:
        said = f"The body has {between:,} bytes that are no text, and no request needs more than {_MOST_BETWEEN:,}."
        raise Refused(400, [("body", said)])


def _validated(model: type[Model], document: Any) -> Model:
    try:
        return model.model_validate(document)
    except ValidationError as invalid:
        # Without the input: an error answer repeats nothing it was given.
        faults = [
            (".".join(str(part)[:60] for part in fault["loc"]) or "body", fault["msg"])
            for fault in invalid.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise Refused(400, faults) from None


class _NotStrict(ValueError):
    """JSON that Python would take and that means different things to different readers."""


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _NotStrict("A member of the JSON object is given twice.")
    return members


def _no_constant(_name: str) -> NoReturn:
    raise _NotStrict("NaN and Infinity are no JSON.")
