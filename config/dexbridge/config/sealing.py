"""Keeps plaintext out of reprs and tracebacks.

A traceback printed with locals shows every frame between the raise and the catch. So plaintext is decoded only
below `sealed`, and an exception that leaves `sealed` starts a new traceback there: the frames below are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NoReturn, SupportsIndex, TypeVar

from dexbridge.config.errors import ConfigurationDefect

T = TypeVar("T")


class Sealed(Generic[T]):
    """A value that may hold secrets: redacted repr, no pickle, no copy. `open` it only below `sealed`."""

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def open(self) -> T:
        """The value itself."""
        return self._value

    def __repr__(self) -> str:
        return f"<sealed {type(self._value).__name__}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("A sealed value is not pickled or copied.")


def sealed(doing: str, work: Callable[[], T]) -> T:
    """Runs `work`, which may hold plaintext in its frames, and lets none of them out with an exception.

    Args:
        doing: what is being done, for the message, such as "reading the connection file".
        work: takes no argument, because arguments would stand in this frame; it returns faults as values.

    Raises:
        ConfigurationDefect: `work` raised; the message names the class and nothing else.
    """
    interruption: type[BaseException] | None = None
    try:
        return work()
    except Exception as error:  # noqa: BLE001  (whatever it is, its frames and its text may hold a secret)
        kind = type(error).__name__
    except BaseException as error:  # noqa: BLE001
        kind, interruption = "", type(error)
    # Raised outside of the except blocks, so that no __context__ keeps the frames below.
    if interruption is not None:
        raise interruption
    raise ConfigurationDefect(
        f"{kind} while {doing}. Its details are withheld because a credential may be among them; "
        "please report what the file looks like, without its values."
    )
