"""The examples show what an application may use, so they use nothing else."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ROOMS = {
    "dexbridge.claude",
    "dexbridge.claude.testing",
    "dexbridge.config",
    "dexbridge.connectors",
    "dexbridge.connectors.slack",
    "dexbridge.connectors.testing",
    "dexbridge.connectors.testing.local_slack",
    "dexbridge.console",
    "dexbridge.console.web",
    "dexbridge.sessions",
    "dexbridge.toolsource",
}


def imports(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_an_example_imports_only_public_names(path: Path) -> None:
    for module, name in imports(path):
        if module.partition(".")[0] != "dexbridge":
            continue
        assert module in ROOMS, f"{module} is not a room's public module"
        found = importlib.import_module(module)
        # A module of one idea has no __all__: what it defines itself is public.
        own = [one for one, value in vars(found).items() if getattr(value, "__module__", "") == module]
        listed = getattr(found, "__all__", own)
        public = name in listed or f"{module}.{name}" in ROOMS
        assert public, f"{module}.{name} is not public"


def test_the_examples_use_the_rooms() -> None:
    used = {module for path in EXAMPLES.rglob("*.py") for module, _ in imports(path)}
    assert used >= {"dexbridge.claude", "dexbridge.config", "dexbridge.sessions", "dexbridge.toolsource"}
