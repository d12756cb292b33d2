"""Whether a connection file holds a credential itself, or only names where credentials are."""

from __future__ import annotations

from typing import Final

from dexbridge.config.checking.credentials import AUTH_METHOD_KEYS
from dexbridge.config.reading.shapes import is_list, is_object
from dexbridge.config.reading.syntax import Decoded
from dexbridge.config.telling.finding import holds_token, is_token

_REFERENCE: Final = frozenset({"env", "file"})


def holds_credential(decoded: Decoded, data: bytes) -> bool:
    """Whether a text stands where a credential stands, or what is surely a token anywhere.

    Of a file that could not be decoded whole, every byte is looked at for tokens.
    """
    if (decoded.broken or decoded.guessed) and holds_token(data.decode(errors="replace")):
        return True
    return _in_document(decoded.value) or (decoded.has_duplicates and _in_document(decoded.first))


def _in_document(value: object) -> bool:
    if is_object(value):
        return any(
            is_token(key) or (_in_credentials(inner) if key.lower() == "credentials" else _in_document(inner))
            for key, inner in value.items()
        )
    if is_list(value):
        return any(_in_document(inner) for inner in value)
    return isinstance(value, str) and is_token(value)


def _in_credentials(value: object) -> bool:
    if not is_object(value):
        return _any_text(value)
    for name, inner in value.items():
        if name in AUTH_METHOD_KEYS and not _in_document(inner):
            continue
        # What a reference names is no credential; a token put in its place is one.
        if is_object(inner) and inner.keys() <= _REFERENCE and not _in_document(inner):
            continue
        if _any_text(inner):
            return True
    return _in_document(dict.fromkeys(value))


def _any_text(value: object) -> bool:
    if is_object(value):
        return any(_any_text(inner) for inner in value.values())
    if is_list(value):
        return any(_any_text(inner) for inner in value)
    return isinstance(value, str) and bool(value.strip())
