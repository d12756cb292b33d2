"""No secret leaves: not by a message, a repr, a log line, or a traceback with locals."""

from __future__ import annotations

import copy
import io
import json
import logging
import pickle
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_validator
from rich.console import Console
from rich.traceback import Traceback

from dexbridge.config import ConfigurationError, Sealed, inspect_file, load_from_environment, open_project
from dexbridge.connectors import (
    ConnectorDefinition,
    CredentialField,
    CredentialsUnavailable,
    LiveCheck,
    ProjectConnection,
)
from tests.config.conftest import Write
from tests.fakes.connection_files import VERSION, document, record

SECRET = "TOPSECRET7VALUE42X"
FILE = "DEX_CONNECTOR_CONFIG_FILE"

BROKEN = {
    "syntax.json": f'{{"connections": [{{"credentials": {{"bot_token": "{SECRET}"}}, oops',
    "control.json": f'{{"bot_token": "{SECRET}\n"}}',
    "bare.json": f'{{"bot_token": {SECRET}}}',
    "only.json": f'"{SECRET}"',
    "number.json": f'{{"{SECRET}": {"9" * 5000}}}',
    "deep.json": '{"a": "' + SECRET + '", "b": ' + "[" * 100_000,
    "encoding.json": f'{{"bot_token": "{SECRET}\udcff"}}',
    "swapped.json": json.dumps(document(record(credentials={SECRET: "bot_token"}))),
    "swapped-twice.json": '{"connections": [{"credentials": {"TOPSECRET": "a", "TOPSECRET": "b"}}]}',
    "plain-swapped.json": json.dumps(document(record(credentials={"TOPSECRET": "bot_token"}))),
    "shape.json": json.dumps(document(record(credentials={"bot_token": SECRET}))),
    "unknown.json": json.dumps(document(record(credentials={"bot_token": "xoxb-1", "other": SECRET}))),
    "plain.json": json.dumps(document(record(credentials=SECRET, configuration=SECRET))),
    "endpoint.json": json.dumps(document(record(configuration={"endpoint": f"https://u:{SECRET}@slack.com"}))),
    "setting.json": json.dumps(document(record(configuration={"maxResponseBytes": SECRET}))),
    "version.json": json.dumps({"schemaVersion": SECRET, "connections": [], SECRET: SECRET}),
    "syntax.toml": f'a = "{SECRET}',
    "bare.toml": f"bot_token = {SECRET}\n",
    "twice.toml": f'bot_token = "{SECRET}"\nbot_token = "{SECRET}"\n',
    "lines.toml": f'a = """\n{SECRET} = 1\n{SECRET}"""\nb = \n',
    "key.toml": f"{SECRET} = 1\n{SECRET} = 2\n",
    "shape.toml": f"""
schemaVersion = "{VERSION}"
[[connections]]
connectorId = "slack"
connectionName = "support-slack"
configuration = {{}}
credentials = {{ bot_token = {{ env = "THE_VARIABLE" }}, user_token = "{SECRET}" }}
""",
}


async def fails(path: Path) -> BaseException:
    environment = {FILE: str(path), "THE_VARIABLE": SECRET, "OTHER_VARIABLE": SECRET}
    try:
        await load_from_environment(environment)
    except ConfigurationError as error:
        return error
    raise AssertionError(f"{path} was accepted")


def shown(error: BaseException) -> str:
    """Everything a tool can print of an exception, locals included, suppressed contexts too."""
    parts = [str(error), repr(error), repr(error.__dict__)]
    seen: BaseException | None = error
    while seen is not None:
        # The frames of this file, which wrote the secret, come first and are not what is tested.
        frame = seen.__traceback__
        while frame is not None and frame.tb_frame.f_code.co_filename == __file__:
            frame = frame.tb_next
        seen.__traceback__ = frame
        parts += traceback.TracebackException.from_exception(seen, capture_locals=True).format()
        out = Console(file=io.StringIO(), width=10_000)
        out.print(
            Traceback.from_exception(
                type(seen),
                seen,
                seen.__traceback__,
                show_locals=True,
                locals_max_length=10_000,
                locals_max_string=1_000_000,
            )
        )
        assert isinstance(out.file, io.StringIO)
        parts.append(out.file.getvalue())
        seen = seen.__cause__ or seen.__context__
    return "\n".join(parts)


@pytest.mark.parametrize("name", BROKEN)
async def test_a_refused_file_shows_nothing_of_its_values(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / name
    path.write_bytes(BROKEN[name].encode(errors="surrogateescape"))
    path.chmod(0o600)
    caplog.set_level(logging.DEBUG)
    error = await fails(path)
    text = shown(error)
    assert "TOPSECRET" not in text
    assert "TOPSECRET" not in caplog.text
    assert "load_from_environment" in text  # the frames with locals are really there


async def test_environment_conflicts_show_nothing_of_the_environment() -> None:
    for environment in ({}, {"DEX_PROJECT_ID": SECRET}, {"DEX_PROJECT_ID": SECRET, FILE: "/x"}):
        with pytest.raises(ConfigurationError) as caught:
            await load_from_environment({**environment, "SLACK_BOT_TOKEN": SECRET})
        assert SECRET not in shown(caught.value)


async def test_a_failed_read_shows_nothing(write: Write) -> None:
    path = write(document(record(credentials={"bot_token": f"xoxb-{SECRET}"})))
    async with await open_project(path, Sealed[Mapping[str, str]]({"A": SECRET})) as project:
        connection = project.connection("slack", "support-slack")
        await connection.read_credentials()
        write(document(record(credentials={"bot_token": SECRET})))
        with pytest.raises(CredentialsUnavailable) as caught:
            await connection.read_credentials()
    assert SECRET not in shown(caught.value)


class Careless(BaseModel):
    """A configuration whose errors echo what they got, and that breaks on one value."""

    endpoint: str

    @field_validator("endpoint")
    @classmethod
    def _check(cls, value: str) -> str:
        if value.startswith("break"):
            raise KeyError(value)
        raise ValueError(f"cannot use {value}")


async def _never(connection: ProjectConnection) -> LiveCheck:
    raise AssertionError(connection)


CARELESS = ConnectorDefinition(
    "careless", "Careless", Careless, (CredentialField("key", "Key", None, "a key"),), (), _never
)


@pytest.mark.parametrize("endpoint", [SECRET, f"break {SECRET}", f"https://{SECRET}.example"])
async def test_a_careless_connector_cannot_leak(write: Write, endpoint: str) -> None:
    whole = document(record(connectorId="careless", configuration={"endpoint": endpoint}, credentials={"key": SECRET}))
    with pytest.raises(ConfigurationError) as caught:
        await open_project(write(whole), connectors={"careless": CARELESS})
    assert SECRET not in shown(caught.value)


async def test_an_interrupted_read_shows_nothing(write: Write) -> None:
    path = write(document(record(credentials={"bot_token": SECRET})))

    class Interrupting(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        inspect_file(str(path), Sealed({}), Interrupting())
    assert SECRET not in shown(caught.value)


async def test_reprs_pickles_and_copies_give_nothing(write: Write) -> None:
    whole = document(record(credentials={"bot_token": f"xoxb-{SECRET}"}, future=SECRET))
    path = write(whole)
    inspection = inspect_file(str(path), Sealed({"A": SECRET}), {})
    async with await open_project(path) as project:
        connection = project.connection("slack", "support-slack")
        credentials = await connection.read_credentials()
        for value in (inspection, inspection.connections, project, connection, credentials, vars(project)):
            assert SECRET not in repr(value)
            assert SECRET not in str(value)
        out = Console(file=io.StringIO(), width=10_000)
        out.print([inspection, project, connection, credentials, vars(project), vars(connection)])
        assert isinstance(out.file, io.StringIO)
        assert SECRET not in out.file.getvalue()
        for value in (project, inspection):
            with pytest.raises(TypeError):
                pickle.dumps(value)
            with pytest.raises(TypeError):
                copy.deepcopy(value)
        with pytest.raises(TypeError):
            json.dumps(credentials)
