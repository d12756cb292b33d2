"""Everything that is wrong is said in one run, or it is said that something was not checked."""

from __future__ import annotations

import json

import pytest

from tests.config.conftest import Inspect
from tests.fakes.connection_files import BOT_TOKEN, VERSION, codes, document, record

TOML = f"""\
schemaVersion = "{VERSION}"

[[connections]]
connectorId = "slack"
connectionName = "support-slack"
configuration = {{ maxMessageCharacters = 8000 }}

[connections.credentials]
bot_token = "{BOT_TOKEN}"
"""


def test_both_values_of_a_json_key_that_is_there_twice_are_checked(inspect: Inspect) -> None:
    faulty = record(
        provider=" ",
        configuration={"maxMessageCharacters": 50_000},
        credentials={"bot_token": "nothing", "bot_tokn": "x"},
        connectionName=" ",
    )
    text = json.dumps(document(faulty), indent=2)
    expected = ["blank-value", "blank-value", "configuration", "credential-shape", "unknown-credential"]
    later = inspect(text.replace('"triggerBindings"', '"connections": [],\n  "triggerBindings"'))
    assert codes(later) == [*expected, "duplicate-key"]
    earlier = inspect(text.replace('"connections"', '"connections": [],\n  "connections"'))
    assert codes(earlier) == ["duplicate-key", *expected]
    both = inspect(text.replace('"triggerBindings"', '"connections": 3,\n  "triggerBindings"'))
    assert codes(both) == [*expected, "duplicate-key", "wrong-type"]


def test_what_is_there_three_times_is_said_to_be_checked_in_part(inspect: Inspect) -> None:
    again = inspect(f'{{"connections": [], "connections": 3, "connections": [], "schemaVersion": "{VERSION}"}}')
    assert codes(again) == ["duplicate-key", "duplicate-key"]
    assert all("Only the first and the last were checked." in one.mend for one in again.diagnostics)


def test_a_binding_may_be_for_a_connection_of_either_value(inspect: Inspect) -> None:
    binding = {"connectorId": "slack", "connectionName": "support-slack", "triggerName": "t", "bindingName": "b"}
    text = json.dumps(document(record(), triggerBindings=[binding]))
    assert codes(inspect(text[:-1] + ', "connections": []}')) == ["duplicate-key"]


@pytest.mark.parametrize("separator", ["\n", " "])
def test_a_missing_closing_quote_has_one_diagnostic_and_what_is_before_it_is_checked(
    inspect: Inspect, separator: str
) -> None:
    text = json.dumps(document(record())).replace('"connections"', '\n"extra": 1, "connections"')
    broken = text.replace(f'"{BOT_TOKEN}"}}}}], ', f'"{BOT_TOKEN}}}}}],{separator}')
    assert broken != text
    inspection = inspect(broken)
    assert codes(inspection) == ["unknown-key", "syntax"]
    fault = inspection.diagnostics[1]
    assert "quote" in fault.mend
    assert fault.mend.endswith("What follows was not checked.")
    if separator == "\n":
        assert fault.place is not None
        assert broken.splitlines()[fault.place.line - 1][fault.place.column - 1 :].startswith(f'"{BOT_TOKEN}')


def test_a_string_with_several_line_breaks_has_one_diagnostic_and_the_rest_is_checked(inspect: Inspect) -> None:
    text = json.dumps(document(record(credentials={"bot_token": "xoxb-1A2B"}), extra=1))
    assert codes(inspect(text.replace("1A2B", "1\n2\n3\t4"))) == ["syntax", "unknown-key"]


def test_what_stands_before_a_fault_is_checked(inspect: Inspect) -> None:
    text = json.dumps(document(record(credentials={"bot_token": "nothing"})))
    assert codes(inspect(text[: text.index(', "triggerBindings"')])) == ["credential-shape", "syntax"]
    assert codes(inspect(text.replace('"triggerBindings":', '"triggerBindings" oops'))) == [
        "credential-shape",
        "syntax",
    ]
    broken = inspect(TOML.replace(VERSION, "other") + "[other\na = 1\n", "connections.toml")
    assert codes(broken) == ["schema-version", "syntax"]
    assert broken.diagnostics[1].mend.endswith("What follows was not checked.")


def test_a_file_of_which_nothing_can_be_checked_says_so(inspect: Inspect) -> None:
    (fault,) = inspect('schemaVersion = "x"\na = [\n  1,\n  what\n', "connections.toml").diagnostics
    assert "Nothing but the syntax was checked" in fault.mend
