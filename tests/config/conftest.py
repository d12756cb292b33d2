"""Writing connection files and looking at what is said of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from dexbridge.config import Inspection, Sealed, inspect_file
from dexbridge.connectors import installed_connectors

Write = Callable[..., Path]
Inspect = Callable[..., Inspection]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a connection file: a document (as indented JSON), text or bytes."""

    def write_file(content: object, name: str = "connections.json", mode: int = 0o600) -> Path:
        path = tmp_path / name
        path.unlink(missing_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        path.chmod(mode)
        return path

    return write_file


@pytest.fixture
def inspect(write: Write) -> Inspect:
    """Writes a file and inspects it."""

    def inspect_content(
        content: object, name: str = "connections.json", environment: Mapping[str, str] | None = None
    ) -> Inspection:
        path = write(content, name)
        return inspect_file(str(path), Sealed(environment or {}), installed_connectors())

    return inspect_content
