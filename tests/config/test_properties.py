"""Random valid files are accepted; whatever is done to them is either accepted or refused with a place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings

from dexbridge.config import Sealed, inspect_file
from dexbridge.connectors import installed_connectors
from tests.fakes.connection_files import VALID_DOCUMENTS, Mutated, check_mutated, mutated_files, to_toml

CONNECTORS = installed_connectors()
QUICK = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@QUICK
@given(VALID_DOCUMENTS)
def test_valid_files_are_accepted(tmp_path: Path, whole: dict[str, Any]) -> None:
    for name, text in (("connections.json", json.dumps(whole)), ("connections.toml", to_toml(whole))):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        inspection = inspect_file(str(path), Sealed({}), CONNECTORS)
        assert inspection.diagnostics == ()
        assert [one.reference.connection_name for one in inspection.connections] == [
            one["connectionName"] for one in whole["connections"]
        ]


@QUICK
@given(mutated_files())
def test_invalid_files_are_refused_with_a_place_in_the_file(tmp_path: Path, mutated: Mutated) -> None:
    check_mutated(mutated, tmp_path, CONNECTORS)
