"""The scaffold with a few texts changed, as a careless author leaves it."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dexbridge.connectors.scaffold import package_name, write_scaffold
from dexbridge.connectors.testing.conformance import ConnectorConformance

_NUMBERS = itertools.count(1)


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ConnectorConformance[Any]]]:
    """Writes the scaffold, changes one text in one of its files (or several), and loads its suite."""
    loaded: list[str] = []

    def change(file: str, old: str, new: str, *more: tuple[str, str, str]) -> ConnectorConformance[Any]:
        name = f"careless-{next(_NUMBERS)}"
        write_scaffold(name, tmp_path / name)
        package = package_name(name)
        for one, before, after in ((file, old, new), *more):
            path = tmp_path / name / ("tests" if one.startswith("test_") else f"src/{package}") / one
            text = path.read_text()
            assert text.count(before) == 1, f"{one} must hold this once: {before}"
            path.write_text(text.replace(before, after))
        monkeypatch.setattr(sys, "path", [str(tmp_path / name / "src"), *sys.path])
        spec = importlib.util.spec_from_file_location(f"{package}_suite", tmp_path / name / "tests/test_conformance.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        loaded.append(package)
        return module.TestConformance()

    yield change
    for package in loaded:
        for module in [one for one in sys.modules if one.split(".")[0] == package]:
            del sys.modules[module]
