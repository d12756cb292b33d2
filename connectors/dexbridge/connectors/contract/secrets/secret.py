"""Secret: a credential value that does not show itself by accident."""

from __future__ import annotations

import hmac
from typing import NoReturn, SupportsIndex


class Secret:
    """A credential value; `reveal` it only where a request is built.

    `str` and `repr` are redacted; JSON, pickle, copies and format strings are refused, so a Secret cannot
    slip into state, events or a prepared log line.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(redacted)"

    def __str__(self) -> str:
        return "[redacted]"

    def __format__(self, format_spec: str) -> NoReturn:
        raise TypeError("A Secret is not formatted into text; reveal it where the request is built.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("A Secret is not pickled or copied.")

    def __copy__(self) -> NoReturn:
        raise TypeError("A Secret is not copied.")

    def __deepcopy__(self, memo: dict[int, object]) -> NoReturn:
        raise TypeError("A Secret is not copied.")
