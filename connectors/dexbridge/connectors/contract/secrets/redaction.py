"""Takes credential values out of anything a dispatch hands back, and finds them in what it is given.

A provider or an author may echo a token by accident: in an error, a message, an output. What leaves a
dispatch is stored for good, so it is searched for the credentials that were read.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

from pydantic import BaseModel

from dexbridge.connectors.contract.arguments.unseen import is_unseen
from dexbridge.connectors.contract.attempts.attempt import Attempt, BranchTaken
from dexbridge.connectors.contract.attempts.reconciliation import FoundSent, Reconciliation
from dexbridge.connectors.contract.failure import Failure
from dexbridge.connectors.contract.receipt import Receipt
from dexbridge.connectors.contract.secrets.secret import Secret

MASK: Final = "[redacted]"

_SHORTEST: Final = 8
"""A shorter value would be found in ordinary text."""

Value = TypeVar("Value")


def redact(value: Value, secrets: Iterable[Secret]) -> Value:
    """The same JSON-like value, with every credential in its strings masked."""
    return cast(Value, _redact(value, _longest_first(_values(secrets))))


def redact_given(value: Value, secrets: Iterable[Secret]) -> Value:
    """As `redact`, for what is given on purpose: escaped credentials, numbers and unseen characters count too."""
    forms = {form for known in _values(secrets) for form in _forms(known)}
    return cast(Value, _redact_given(value, _longest_first(forms)))


def _values(secrets: Iterable[Secret]) -> set[str]:
    return {value for secret in secrets if len(value := secret.reveal()) >= _SHORTEST}


def _longest_first(texts: Iterable[str]) -> list[str]:
    return sorted(texts, key=len, reverse=True)


def _forms(value: str) -> Iterable[str]:
    """Every way a credential may be written."""
    yield value
    escaped = json.dumps(value)[1:-1]
    yield escaped
    yield escaped.replace("/", "\\/")
    yield quote(value, safe="")
    yield html.escape(value)
    for offset in range(3):
        # What stands before and after it in the encoded bytes changes the first and the last characters.
        encoded = base64.b64encode(b"\0" * offset + value.encode()).decode().rstrip("=")
        inner = encoded[-(-offset * 8 // 6) : len(encoded) - (1 if (offset + len(value.encode())) % 3 else 0)]
        yield inner
        yield inner.replace("+", "-").replace("/", "_")


def _redact_given(value: Any, known: list[str]) -> Any:
    if isinstance(value, Mapping):
        mapping = cast(Mapping[Any, Any], value)
        return {_redact_given(key, known): _redact_given(item, known) for key, item in mapping.items()}
    if isinstance(value, list | tuple):
        return [_redact_given(item, known) for item in cast(list[Any], value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return MASK if _holds(str(value), known) else value
    if isinstance(value, str):
        seen = value if value.isascii() and value.isprintable() else "".join(c for c in value if not is_unseen(c))
        return MASK if _holds(seen, known) and not _holds(value, known) else _redact(value, known)
    return value


def _holds(text: str, known: list[str]) -> bool:
    return any(form in text for form in known)


def _redact(value: Any, known: list[str]) -> Any:
    if isinstance(value, str):
        for secret in known:
            value = value.replace(secret, MASK)
        return value
    if isinstance(value, Mapping):
        mapping = cast(Mapping[Any, Any], value)
        return {_redact(key, known): _redact(item, known) for key, item in mapping.items()}
    if isinstance(value, list | tuple):
        return [_redact(item, known) for item in cast(list[Any], value)]
    return value


def redact_failure(failure: Failure, secrets: Iterable[Secret]) -> Failure:
    """The failure with its message masked."""
    return replace(failure, message=redact(failure.message, secrets))


def redact_receipt(receipt: Receipt, secrets: Iterable[Secret]) -> Receipt:
    """The receipt with its texts masked."""
    known = tuple(secrets)
    return replace(
        receipt,
        provider_object_id=redact(receipt.provider_object_id, known),
        provider_request_id=redact(receipt.provider_request_id, known),
        metadata=redact(dict(receipt.metadata), known),
    )


def redact_output(output: BaseModel, secrets: Iterable[Secret]) -> BaseModel:
    """The output, made anew from its masked form when it held a credential."""
    dumped = output.model_dump(mode="json", by_alias=True)
    masked = redact(dumped, secrets)
    return output if masked == dumped else type(output).model_validate(masked)


def redact_attempt(attempt: Attempt, secrets: Iterable[Secret]) -> Attempt:
    """The attempt without credentials."""
    known = tuple(secrets)
    if not isinstance(attempt, BranchTaken):
        return replace(attempt, failure=redact_failure(attempt.failure, known))
    return replace(
        attempt,
        output=redact_output(attempt.output, known) if attempt.output is not None else None,
        receipt=redact_receipt(attempt.receipt, known) if attempt.receipt is not None else None,
        failure=redact_failure(attempt.failure, known) if attempt.failure is not None else None,
    )


def redact_reconciliation(found: Reconciliation, secrets: Iterable[Secret]) -> Reconciliation:
    """The reconciliation without credentials."""
    known = tuple(secrets)
    if isinstance(found, FoundSent):
        return replace(found, output=redact_output(found.output, known), receipt=redact_receipt(found.receipt, known))
    return replace(found, message=redact(found.message, known))
