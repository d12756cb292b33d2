"""What diagnostics say of common mistakes, so that the next step is plain."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import field_validator

from dexbridge.config import Code, Sealed, inspect_file
from dexbridge.connectors import (
    ConnectorConfiguration,
    ConnectorDefinition,
    CredentialField,
    LiveCheck,
    ProjectConnection,
)
from tests.config.conftest import Inspect, Write
from tests.fakes.connection_files import BOT_TOKEN, USER_TOKEN, VERSION, document, record

REFERENCE = f"""\
schemaVersion = "{VERSION}"
[[connections]]
connectorId = "slack"
connectionName = "support-slack"
configuration = {{}}
credentials = {{ bot_token = {{ file = "TARGET" }} }}
"""


@pytest.mark.parametrize(
    ("name", "token", "looks", "belongs"),
    [
        ("bot_token", USER_TOKEN, "a user token", "Move it to user_token"),
        ("user_token", BOT_TOKEN, "a bot token", "Move it to bot_token"),
        ("bot_token", "xapp-1-abc", "an app-level token", "Move it to app_token"),
    ],
)
def test_a_token_in_another_tokens_place_is_recognised(
    inspect: Inspect, name: str, token: str, looks: str, belongs: str
) -> None:
    (fault,) = inspect(document(record(credentials={name: token}))).diagnostics
    assert fault.code is Code.CREDENTIAL_SHAPE
    assert fault.message == f"{name} looks like {looks}."
    assert fault.mend.startswith(belongs)
    assert token not in str(fault)


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("connectors.dex.dev/local-connections/v1alpha2", "'connectors.dex.dev/local-connections/v1alpha2'"),
        ("2", "'2'"),
        (1, "'1'"),
    ],
)
def test_another_schema_version_is_shown(inspect: Inspect, version: Any, shown: str) -> None:
    (fault,) = inspect(document(record(), schemaVersion=version)).diagnostics
    assert fault.message == f"The schemaVersion {shown} is not one that is read here."
    assert fault.source is not None
    assert shown.strip("'") in fault.source.text


@pytest.mark.parametrize("version", [BOT_TOKEN, "x" * 200, "A1b2C3d4E5f6G7h8I9", "1234567890123"])
def test_a_schema_version_that_may_be_a_token_is_not_shown(inspect: Inspect, version: str) -> None:
    (fault,) = inspect(document(record(), schemaVersion=version)).diagnostics
    assert version not in f"{fault}{fault.source}"


@pytest.mark.parametrize(
    ("configuration", "rule"),
    [
        ({"maxMessageCharacters": 50_000}, "it must be at most 40000."),
        ({"maxMessageCharacters": 0}, "it must be at least 1."),
        ({"maxMessageCharacters": "many"}, "it must be a whole number."),
        ({"endpoint": 3}, "it must be a text."),
    ],
)
def test_a_refused_configuration_is_explained_in_our_words(
    inspect: Inspect, configuration: dict[str, Any], rule: str
) -> None:
    (fault,) = inspect(document(record(configuration=configuration))).diagnostics
    assert fault.message.endswith(f" is refused: {rule}")


ADDRESS = (
    "The configuration 'endpoint' is refused: must be an absolute URL, such as https://api.example.com.",
    "Correct it, or leave it out for the default; `dexbridge config schema` prints what is accepted.",
)


@pytest.mark.parametrize(
    "value", ["https://", "h", "a", "example", "api.example.com", "https", "such as", "refused", "must be", "http//"]
)
def test_our_own_sentence_is_whole_whatever_value_is_refused(inspect: Inspect, value: str) -> None:
    (fault,) = inspect(document(record(configuration={"endpoint": value}))).diagnostics
    assert (fault.message, fault.mend) == ADDRESS
    assert fault.connection == "slack/support-slack"
    assert fault.source is None or value not in re.findall(r'"([^"]*)"', fault.source.text)


@pytest.mark.parametrize("value", ["looks", "right form", "does", "have", "token", "Settings", "with", "a", "h"])
def test_our_own_sentence_is_whole_whatever_credential_is_refused(inspect: Inspect, value: str) -> None:
    (fault,) = inspect(document(record(credentials={"bot_token": value}))).diagnostics
    (other,) = inspect(document(record(credentials={"bot_token": "zzzzzzzz"}))).diagnostics
    assert (fault.message, fault.mend) == (other.message, other.mend)


class Echoing(ConnectorConfiguration):
    """Settings whose check repeats what it got, between words of its own."""

    place: str

    @field_validator("place")
    @classmethod
    def _check(cls, value: str) -> str:
        raise ValueError(f"a place such as here, not {value}")


async def _unasked(connection: ProjectConnection) -> LiveCheck:
    raise AssertionError(connection)


ECHOING = ConnectorDefinition(
    "echoing", "Echoing", Echoing, (CredentialField("key", "Key", None, "a key"),), (), _unasked
)


@pytest.mark.parametrize(
    ("place", "key", "said"),
    [
        ("nowhere7", "k-1", "it does not have the right form"),
        ("here", "k-1", "it does not have the right form"),
        ("x such-a-key y", "such-a-key", "it does not have the right form"),
        ("xy", "k-1", "a place such as here, not xy"),
        ("xy", "configuration", "a place such as here, not xy"),
        ("xy", "refused", "a place such as here, not xy"),
    ],
)
def test_a_connectors_sentence_that_holds_a_secret_goes_whole(write: Write, place: str, key: str, said: str) -> None:
    whole = document(record(connectorId="echoing", configuration={"place": place}, credentials={"key": key}))
    (fault,) = inspect_file(str(write(whole)), Sealed({}), {"echoing": ECHOING}).diagnostics
    assert fault.message == f"The configuration 'place' is refused: {said}."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"credentials": {"bot_token": BOT_TOKEN, "user_token": "pasted"}, "configuration": {"pasted": 1}},
            "The Connector slack has no configuration (not shown).",
        ),
        (
            {"connectorId": "other", "credentials": {"pasted": "pasted", "more": "pasted "}},
            "more starts or ends with a space, or holds a character that no credential has.",
        ),
        (
            {"connectorId": "other", "credentials": {"pasted": " pasted", "more": "pasted"}},
            "A credential starts or ends with a space, or holds a character that no credential has.",
        ),
    ],
)
def test_a_name_that_is_also_a_credential_is_not_shown(inspect: Inspect, changes: dict[str, Any], message: str) -> None:
    faults = inspect(document(record(**changes))).diagnostics
    assert message in [fault.message for fault in faults]


@pytest.mark.parametrize("target", ["secrets/none", "/nowhere/20240101123456/.slack_1", "../.none", "/nowhere/a b/t"])
def test_an_absent_credential_file_is_named(inspect: Inspect, target: str) -> None:
    inspection = inspect(REFERENCE.replace("TARGET", target), "connections.toml")
    (fault,) = inspection.diagnostics
    assert str(Path(inspection.path).parent / target) in fault.message
    assert "does not exist" in fault.message


@pytest.mark.parametrize("target", [BOT_TOKEN, "A1b2C3d4E5f6G7h8I9", f"/run/{BOT_TOKEN}"])
def test_a_credential_in_the_place_of_a_path_is_not_shown(inspect: Inspect, target: str) -> None:
    (fault,) = inspect(REFERENCE.replace("TARGET", target), "connections.toml").diagnostics
    assert "a file that is not there" in fault.message
    assert target not in f"{fault}{fault.source}"
