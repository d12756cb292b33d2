"""Every diagnostic has a test that does what its mend says."""

from __future__ import annotations

import importlib

import pytest

from dexbridge.config import Code
from tests.config.mended import MENDED

MODULES = ("test_mends", "test_mends_of_files", "test_mends_of_checks", "test_mounts")


@pytest.fixture(scope="module")
def mended() -> frozenset[Code]:
    for name in MODULES:
        importlib.import_module(f"tests.config.{name}")
    return frozenset(MENDED)


@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_test_that_does_what_its_mend_says(code: Code, mended: frozenset[Code]) -> None:
    assert code in mended, f"Give {code} a row or a test in one of {MODULES}; see tests/config/mended.py."
