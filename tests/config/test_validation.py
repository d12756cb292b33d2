"""What is wrong with a file, all of it at once: cases F3, F4, F5, F6, F7, F11, F13."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dexbridge.config import Inspection, InvalidConnectionFile, Severity, open_project
from tests.config.conftest import Inspect, Write
from tests.fakes.connection_files import BOT_TOKEN, USER_TOKEN, VERSION, codes, document, places, record

TOML = f"""\
schemaVersion = "{VERSION}"

[[connections]]
connectorId = "slack"
connectionName = "support-slack"
configuration = {{ maxMessageCharacters = 8000 }}

[connections.credentials]
bot_token = "{BOT_TOKEN}"
"""


def test_valid_files_have_no_diagnostics(inspect: Inspect) -> None:
    assert inspect(document(record())).diagnostics == ()
    assert inspect(TOML, "connections.toml").diagnostics == ()
    assert inspect({"schemaVersion": VERSION, "connections": [], "triggerBindings": None}).diagnostics == ()


async def test_a_file_dex_web_writes_is_accepted_and_what_it_adds_is_kept(inspect: Inspect, write: Write) -> None:
    whole = document(
        record(
            authMethodId="bot",
            credentials={"auth_method": "bot", "bot_token": BOT_TOKEN},
            credentialExpiresAt="2999-12-31T00:00:00.123456789Z",
            credentialStatus="",
            futureMember={"a": [1]},
        ),
        triggerBindings=[
            {
                "connectorId": "slack",
                "connectionName": "support-slack",
                "triggerName": "message",
                "bindingName": "main",
                "configuration": {"channel": "C1"},
            }
        ],
    )
    inspection = inspect(whole)
    assert inspection.diagnostics == ()
    assert inspection.connections[0].extra.open() == {"authMethodId": "bot", "futureMember": {"a": [1]}}
    async with await open_project(write(whole)) as project:
        assert set(await project.connection("slack", "support-slack").read_credentials()) == {"bot_token"}


async def test_configuration_is_a_copy(write: Write) -> None:
    async with await open_project(write(TOML, "connections.toml")) as project:
        connection = project.connection("slack", "support-slack")
        taken: Any = connection.configuration
        taken["maxMessageCharacters"] = 1
        assert connection.configuration == {"maxMessageCharacters": 8000}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{\n  "schemaVersion": "x",\n}\n', (2, 23)),
        ('{\n  "connections": [1 2]\n}\n', (2, 21)),
        ('{\n  // note\n  "connections": []}\n', (2, 3)),
        ('{"connections": [\n', (1, 17)),
        ("{'connections': []}", (1, 2)),
        ('{"a": nope}', (1, 7)),
        ('{"é": "open}', (1, 7)),
        ('{"a": NaN}', (1, 7)),
        ('{"a": "\\ud800"}', (1, 7)),
        ("{}\n{}\n", (2, 1)),
    ],
)
def test_broken_json_is_placed(inspect: Inspect, text: str, place: tuple[int, int]) -> None:
    inspection = inspect(text)
    assert ("syntax", *place) in places(inspection)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (TOML.replace('"slack"', "slack"), (4, 15)),
        (TOML.replace('"support-slack"', '"support-slack'), (5, 32)),
        (TOML.replace("[[connections]]", "[[connections]"), (3, 14)),
        (TOML + "what\nx = 1\n", (10, 5)),
        (TOML + "a = 1979-99-99\n", (10, 9)),
    ],
)
def test_broken_toml_is_placed(inspect: Inspect, text: str, place: tuple[int, int]) -> None:
    inspection = inspect(text, "connections.toml")
    assert ("syntax", *place) in places(inspection)


def test_a_toml_key_that_is_there_twice_is_refused(inspect: Inspect) -> None:
    assert places(inspect(TOML + 'bot_token = "xoxb-9"\n', "connections.toml")) == [("duplicate-key", 10, 1)]


async def test_the_message_of_an_invalid_file_has_path_line_and_column(write: Write) -> None:
    path = write('{\n  "connections": [],\n}')
    with pytest.raises(InvalidConnectionFile) as caught:
        await open_project(path)
    assert str(caught.value).splitlines()[0].startswith(f"{path}:1:1: error: schemaVersion is missing.")
    assert str(caught.value).splitlines()[1].startswith(f"{path}:2:20: error: There is a comma")


def test_case_f4_each_is_refused_with_its_place(inspect: Inspect) -> None:
    text = json.dumps(document(record()), indent=2)
    twice = text.replace('"provider": "slack",', '"provider": "slack",\n      "provider": "slack",')
    assert places(inspect(twice)) == [("duplicate-key", 9, 7)]
    (diagnostic,) = inspect(twice).diagnostics
    assert [(place.line, place.column) for place in diagnostic.related] == [(8, 7)]
    assert places(inspect(text.replace('"connections"', '"extra": 1, "connections"'))) == [("unknown-key", 3, 3)]
    assert places(inspect(text.replace('"connectorId"', '"ConnectorId"'))) == [("key-case", 5, 7)]
    assert places(inspect(text.replace('"schemaVersion"', '"schemaversion"'))) == [("key-case", 2, 3)]
    assert places(inspect(text.replace("v1alpha1", "v1alpha2"))) == [("schema-version", 2, 20)]


def test_case_f5_five_faults_are_five_diagnostics_in_file_order(inspect: Inspect) -> None:
    inspection = inspect(FIVE_FAULTS)
    assert places(inspection) == [
        ("key-case", 5, 7),
        ("configuration", 10, 38),
        ("credential-shape", 11, 37),
        ("syntax", 11, 57),
        ("unknown-key", 13, 3),
    ]
    assert [one.pointer for one in inspection.diagnostics] == [
        "/connections/0/ConnectorId",
        "/connections/0/configuration/endpoint",
        "/connections/0/credentials/bot_token",
        "",
        "/extra",
    ]
    assert {one.connection for one in inspection.diagnostics} == {None, "slack/support-slack"}
    assert all(one.message and one.mend and one.source for one in inspection.diagnostics)


FIVE_FAULTS = f"""\
{{
  "schemaVersion": "{VERSION}",
  "connections": [
    {{
      "ConnectorId": "slack",
      "modulePath": "example.com/slack",
      "moduleVersion": "v0.21.0",
      "provider": "slack",
      "connectionName": "support-slack",
      "configuration": {{ "endpoint": "http://slack.example" }},
      "credentials": {{ "bot_token": "{USER_TOKEN}" }},
    }}],
  "extra": 1
}}
"""


def test_five_toml_faults_are_five_diagnostics(inspect: Inspect) -> None:
    text = f"""\
schemaVersion = "{VERSION}x"
[[connections]]
connectorId = "slack"
connectionName = " "
configuration = {{ maxResponseBytes = "many" }}
credentialExpiresAt = 2027-01-01T00:00:00
[connections.credentials]
bot_token = {{ env = "UNSET_VARIABLE" }}
"""
    assert places(inspect(text, "connections.toml")) == [
        ("schema-version", 1, 17),
        ("blank-value", 4, 18),
        ("configuration", 5, 38),
        ("bad-value", 6, 23),
        ("credential-reference", 8, 1),
    ]


def test_case_f6_two_records_of_one_name_name_both_places(inspect: Inspect) -> None:
    inspection = inspect(document(record(), record(moduleVersion="v1")))
    (diagnostic,) = inspection.diagnostics
    assert diagnostic.code == "duplicate-connection"
    assert [(place.line, place.column) for place in (diagnostic.place, *diagnostic.related) if place] == [
        (20, 25),
        (9, 25),
    ]
    assert str(diagnostic).count(f"{inspection.path}:") == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"credentials": {"bot_token": USER_TOKEN}},
        {"credentials": {"bot_token": "xoxb-12\n34"}},
        {"credentials": {"bot_token": " xoxb-1234"}},
        {"credentials": {"bot_token": ""}},
        {"credentials": {"bot_token": ["xoxb-1234"]}},
        {"credentials": {"bot_token": {"env": "xoxb-1234"}}},
        {"credentials": {"bot_tokn": "xoxb-1234"}},
        {"credentials": {"xoxb-1234": "bot_token"}},
        {"credentials": "xoxb-1234"},
        {"credentials": {"auth_method": "xoxb-1234", "auth_methods": ["xoxb-1234"], "bot_token": BOT_TOKEN}},
        {"configuration": {"endpoint": "http://slack.example/xoxb-1234"}},
        {"configuration": {"xoxb-1234": 1}},
        {"configuration": {"maxResponseBytes": "xoxb-1234"}},
        {"connectionName": "xoxb-1234", "configuration": {"a": 1}},
        {"connectorId": "xoxb-1234 x"},
        {"credentialExpiresAt": "xoxb-1234"},
    ],
)
def test_case_f7_a_wrong_value_is_refused_and_never_printed(inspect: Inspect, changes: dict[str, Any]) -> None:
    inspection = inspect(document(record(**changes)))
    assert inspection.errors
    said = repr(inspection) + "".join(f"{one}{one.to_json()}{one.source}" for one in inspection.diagnostics)
    said = said.replace(inspection.path, "").replace(repr(inspection.path), "")
    assert not [part for part in ("xoxb-1", "1234", USER_TOKEN, "slack.example") if part in said]


@pytest.mark.parametrize("missing", ["modulePath", "moduleVersion", "provider"])
def test_only_toml_may_leave_out_names(inspect: Inspect, missing: str) -> None:
    assert codes(inspect(document(record(**{missing: None})))) == ["missing-key"]


@pytest.mark.parametrize("missing", ["connectorId", "connectionName", "configuration", "credentials"])
def test_what_every_record_needs(inspect: Inspect, missing: str) -> None:
    (diagnostic,) = inspect(document(record(**{missing: None}))).diagnostics
    assert (diagnostic.code, diagnostic.pointer) == ("missing-key", "/connections/0")


@pytest.mark.parametrize(
    ("whole", "expected"),
    [
        ([], ["wrong-type"]),
        ({"schemaVersion": VERSION}, ["missing-key"]),
        ({"schemaVersion": VERSION, "connections": {}}, ["wrong-type"]),
        ({"schemaVersion": VERSION, "connections": ["x"]}, ["wrong-type"]),
        (document(triggerBindings=[{}]), ["missing-key"] * 4),
        (document(triggerBindings={}), ["wrong-type"]),
        (document(record(connectorId="Slack")), ["bad-value"]),
        (document(record(credentialStatus=3)), ["wrong-type"]),
        (document(record(credentialExpiresAt="2026-12-31")), ["bad-value"]),
        (document(record(credentialExpiresAt="2026-02-31T00:00:00Z")), ["bad-value"]),
        (document(record(Credentials={})), ["key-case"]),
    ],
)
def test_the_schema(inspect: Inspect, whole: Any, expected: list[str]) -> None:
    assert codes(inspect(whole)) == expected


def test_trigger_bindings_name_a_connection_and_differ(inspect: Inspect) -> None:
    binding = {"connectorId": "slack", "connectionName": "support-slack", "triggerName": "t", "bindingName": "b"}
    whole = document(record(), triggerBindings=[binding, binding, {**binding, "connectionName": "other"}])
    assert codes(inspect(whole)) == ["duplicate-trigger", "trigger-connection"]


def test_a_connector_that_is_not_installed_is_a_warning(inspect: Inspect) -> None:
    (diagnostic,) = inspect(document(record(connectorId="slak", credentials={"any": "thing"}))).diagnostics
    assert (diagnostic.severity, diagnostic.code) == (Severity.WARNING, "connector-not-installed")
    assert "If slack is meant" in diagnostic.mend


def test_a_reference_is_followed(inspect: Inspect, write: Write, tmp_path: Path) -> None:
    write(BOT_TOKEN + "\n", "token")
    for reference in ('{ file = "token" }', f'{{ file = "{tmp_path}/token" }}', '{ env = "SLACK_BOT_TOKEN" }'):
        text = TOML.replace(f'"{BOT_TOKEN}"', reference)
        inspection = inspect(text, "connections.toml", {"SLACK_BOT_TOKEN": BOT_TOKEN})
        assert inspection.diagnostics == ()
        assert inspection.connections[0].credentials.secrets["bot_token"].reveal() == BOT_TOKEN


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_break_at_the_end_of_a_variable_is_not_part_of_the_token(inspect: Inspect, end: str) -> None:
    text = TOML.replace(f'"{BOT_TOKEN}"', '{ env = "SLACK_BOT_TOKEN" }')
    inspection = inspect(text, "connections.toml", {"SLACK_BOT_TOKEN": BOT_TOKEN + end})
    assert inspection.diagnostics == ()
    assert inspection.connections[0].credentials.secrets["bot_token"].reveal() == BOT_TOKEN


def test_a_file_named_by_tilde_is_in_the_home_folder(inspect: Inspect, write: Write, tmp_path: Path) -> None:
    write(BOT_TOKEN + "\n", "token")
    text = TOML.replace(f'"{BOT_TOKEN}"', '{ file = "~/token" }')
    assert inspect(text, "connections.toml", {"HOME": str(tmp_path)}).diagnostics == ()


def test_case_f13_an_unset_variable_is_named(inspect: Inspect) -> None:
    for environment in ({}, {"SLACK_BOT_TOKEN": " "}):
        text = TOML.replace(f'"{BOT_TOKEN}"', '{ env = "SLACK_BOT_TOKEN" }')
        (diagnostic,) = inspect(text, "connections.toml", environment).diagnostics
        assert diagnostic.code == "credential-reference"
        assert "SLACK_BOT_TOKEN" in diagnostic.message
        assert diagnostic.place is not None
        assert diagnostic.place.line == 9


@pytest.mark.parametrize(
    "reference",
    [
        '{ file = "none" }',
        '{ file = "open-token" }',
        '{ file = "empty" }',
        '{ file = "." }',
        '{ file = "~/token" }',
        '{ file = "" }',
        '{ env = "A", file = "b" }',
        '{ value = "xoxb-1234" }',
        '{ env = "not a name" }',
        "{ env = 3 }",
        "{}",
        "[]",
        "7",
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(inspect: Inspect, write: Write, reference: str) -> None:
    write(BOT_TOKEN, "open-token", mode=0o644)
    write("\n", "empty")
    inspection = inspect(TOML.replace(f'"{BOT_TOKEN}"', reference), "connections.toml")
    assert codes(inspection) == ["credential-reference"]


def test_json_has_no_references(inspect: Inspect) -> None:
    inspection = inspect(document(record(credentials={"bot_token": {"env": "SLACK_BOT_TOKEN"}})))
    assert codes(inspection) == ["credential-reference"]
    assert "TOML" in inspection.diagnostics[0].mend


@pytest.mark.parametrize("depth", [65, 100, 5_000, 200_000])
def test_deep_nesting_is_refused(inspect: Inspect, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    text = json.dumps(document(record(extra="DEEP"))).replace('"DEEP"', deep)
    assert codes(inspect(text)) == ["nesting"]
    assert "nesting" in codes(inspect(TOML + f"\n[[connections]]\nextra = {deep}\n", "connections.toml"))
    dotted = ".".join(["a"] * depth) + " = 1\n"
    assert "nesting" in codes(inspect(dotted + TOML, "connections.toml"))


def test_nesting_of_64_is_accepted(inspect: Inspect) -> None:
    # The document, connections and the record are three levels.
    deep = "[" * 61 + "]" * 61
    assert inspect(json.dumps(document(record(extra="DEEP"))).replace('"DEEP"', deep)).diagnostics == ()


@pytest.mark.parametrize("content", [b"{}\0", b'{"a": "\xff"}', b"\xff\xfe{\0}\0"])
def test_what_is_not_utf8_text_is_refused(inspect: Inspect, content: bytes) -> None:
    assert codes(inspect(content)) == ["file-encoding"]


def test_many_faults_are_found_in_a_bounded_time(inspect: Inspect) -> None:
    inspection: Inspection = inspect(document(*(record(connectionName=f"c{n}", provider="") for n in range(2_000))))
    assert codes(inspection) == ["blank-value"] * 2_000
