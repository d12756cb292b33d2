"""Which codes have a test that does what the mend says; test_every_mend.py compares them with all there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dexbridge.config import Code

Test = TypeVar("Test", bound=Callable[..., object])

MENDED: set[Code] = set()


def mends(*codes: Code) -> Callable[[Test], Test]:
    """Marks a test that meets each of these codes, does what its mend says, and ends with what is right."""

    def note(test: Test) -> Test:
        MENDED.update(codes)
        return test

    return note
