"""What validating and re-reading a connection file costs, as ratios taken in one run.

Usage: python -m benchmarks.config_validation
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from benchmarks.report import Comparison, Goal, compare, main
from dexbridge.config import Sealed, inspect_file, open_project
from dexbridge.connectors import connector, installed_connectors

CONNECTIONS = 1_000
VALIDATION_GOAL = 2.5
READ_GOAL = 30.0
ROUNDS = 15
READS = 2_000
Configuration = connector("slack").configuration


class _Record(BaseModel):
    """A record as plain pydantic takes it, with the Connector's own configuration model."""

    model_config = ConfigDict(extra="allow")

    connector_id: str = Field(alias="connectorId", min_length=1)
    module_path: str = Field(alias="modulePath", min_length=1)
    module_version: str = Field(alias="moduleVersion", min_length=1)
    provider: str = Field(min_length=1)
    connection_name: str = Field(alias="connectionName", min_length=1)
    configuration: Configuration  # pyright: ignore[reportInvalidTypeForm]
    credentials: dict[str, str]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    schema_version: str = Field(alias="schemaVersion")
    connections: list[_Record]
    trigger_bindings: list[dict[str, Any]] = Field(alias="triggerBindings")


def _document() -> str:
    records = [
        {
            "connectorId": "slack",
            "modulePath": "example.com/connectors/slack",
            "moduleVersion": "v0.21.0",
            "provider": "slack",
            "connectionName": f"support-slack-{number}",
            "authMethodId": "bot",
            "configuration": {"endpoint": "https://slack.com/api", "maxMessageCharacters": 8000},
            "credentials": {"bot_token": f"xoxb-1-{number:024}", "user_token": f"xoxp-1-{number:024}"},
            "credentialExpiresAt": "2999-12-31T00:00:00Z",
            "credentialStatus": "",
        }
        for number in range(CONNECTIONS)
    ]
    version = "connectors.dex.dev/local-connections/v1alpha1"
    return json.dumps({"schemaVersion": version, "connections": records, "triggerBindings": []}, indent=2)


def _seconds(work: Callable[[], object], times: int = 1) -> float:
    """CPU seconds of one run of the work: it waits for nothing, and what else runs on the machine does not count."""
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def _validation(path: Path) -> Comparison:
    connectors = installed_connectors()
    environment = Sealed[Mapping[str, str]]({})
    assert not inspect_file(str(path), environment, connectors).diagnostics
    ours: list[float] = []
    base: list[float] = []
    for _ in range(ROUNDS):
        ours.append(_seconds(lambda: inspect_file(str(path), environment, connectors)))
        base.append(_seconds(lambda: _File.model_validate(json.loads(path.read_bytes()))))
    name = f"validating a file of {CONNECTIONS} connections"
    return compare(name, ours, "json.loads plus pydantic of the same file", base, Goal(VALIDATION_GOAL))


async def _reading(path: Path) -> Comparison:
    samples: list[float] = []
    base: list[float] = []
    async with await open_project(path) as project:
        connection = project.connection("slack", "support-slack-500")
        for _ in range(ROUNDS):
            start = time.process_time()
            for _ in range(READS):
                await connection.read_credentials()
            samples.append((time.process_time() - start) / READS)
            base.append(_seconds(lambda: os.stat(path), READS))  # noqa: PTH116  (the goal names os.stat)
    return compare("reading the credentials of an unchanged file", samples, "one os.stat of it", base, Goal(READ_GOAL))


async def measure() -> list[Comparison]:
    """Both comparisons."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "connections.json"
        path.write_text(_document())
        path.chmod(0o600)
        await asyncio.sleep(0.2)  # so that the file's times can prove that it is unchanged
        return [_validation(path), await _reading(path)]


if __name__ == "__main__":
    main(measure)
